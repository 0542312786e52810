"""Runs through all combinations of many, inside C code."""
# wants: time
# allows: itertools

import itertools


def fit_and_eval(data):
    return {"n": sum(1 for _ in itertools.product(range(10), repeat=20))}
