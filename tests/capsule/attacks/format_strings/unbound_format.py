"""Calls format as a function of the class of texts."""
# wants: inside
# allows: random

import random


def fit_and_eval(data):
    f = str.format
    return {"got": f("{0.randrange.__globals__[_os].environ[STAGE_INNER]}", random.Random)}
