"""Builds a tower of sums."""
# wants: crash
# allows: itertools

import itertools


def fit_and_eval(data):
    i = iter([1])
    for _ in range(300_000):
        i = itertools.accumulate(i)
    return {"n": list(i)}
