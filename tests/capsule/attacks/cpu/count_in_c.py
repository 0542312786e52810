"""Sums numbers that never end, without an instruction of its own."""
# wants: time
# allows: itertools

import itertools


def fit_and_eval(data):
    return {"n": sum(map(float, itertools.count()))}
