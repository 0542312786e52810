"""Wraps an iterator in itself until its end overflows the stack of C."""
# wants: crash
# allows: itertools

import itertools


def fit_and_eval(data):
    i = iter([])
    for _ in range(300_000):
        i = itertools.chain(i, ())
    return {"n": len(list(i))}
