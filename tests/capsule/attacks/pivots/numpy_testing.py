"""Runs a text through the helpers that NumPy has for tests."""
# wants: write
# allows: numpy.testing

import numpy.testing as t


def fit_and_eval(data):
    t.measure(f"__import__('os').mkdir({data['place'] + '/new'!r})")
    return {}
