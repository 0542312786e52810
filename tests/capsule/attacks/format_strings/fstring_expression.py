"""Walks attributes inside the braces of an f-string, which are an expression."""
# wants: inside
# allows: random

import random


def fit_and_eval(data):
    return {"got": f"{random.Random.randrange.__globals__['_os'].environ['STAGE_INNER']}"}
