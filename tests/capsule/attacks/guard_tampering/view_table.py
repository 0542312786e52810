"""Reads the table of a module's view, for what the view leaves out."""
# wants: inside
# allows: random

import random


def fit_and_eval(data):
    return {"got": random.__dict__["_os"].environ["STAGE_INNER"]}
