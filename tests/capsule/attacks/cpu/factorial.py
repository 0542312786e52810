"""Computes a factorial without an end in sight."""
# wants: time
# allows: math

import math


def fit_and_eval(data):
    return {"n": math.factorial(30_000_000) % 3}
