"""Leaves the old generator of a library where it wants it."""
# wants: leak
# allows: numpy

import numpy as np


def fit_and_eval(data):
    np.random.seed(12345)
    return {}


def check(data):
    return {"left": True} if np.random.rand() == np.random.RandomState(12345).rand() else {}
