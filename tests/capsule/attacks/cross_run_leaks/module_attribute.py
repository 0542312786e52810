"""Changes a number in a module that the next program reads."""
# wants: leak
# allows: math

import math


def fit_and_eval(data):
    math.pi = 3.0
    return {}


def check(data):
    return {"left": True} if math.pi == 3.0 else {}
