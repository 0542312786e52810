"""Looks for a number in a range that has to be walked."""
# wants: time
# allows: itertools

import itertools


def fit_and_eval(data):
    return {"found": -1 in itertools.count()}
