"""Frees the memory of an array that another still looks at."""
# wants: crash
# allows: numpy

import numpy as np


def fit_and_eval(data):
    a = np.ones(10_000_000)
    b = a[:]
    a.resize(1, refcheck=False)
    return {"n": float(b[9_000_000])}
