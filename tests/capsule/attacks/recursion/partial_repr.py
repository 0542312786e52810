"""Asks for the text of partial functions that hold each other."""
# wants: crash
# allows: itertools

import itertools


def fit_and_eval(data):
    i = iter([1])
    for _ in range(300_000):
        i = itertools.islice(i, 1)
    return {"n": list(i)}
