"""Wraps open in a universal function, which C code calls for every item."""
# wants: read
# allows: numpy

import numpy as np


def fit_and_eval(data):
    u = np.frompyfunc(len.__self__.open, 1, 1)
    return {"got": u(np.array([data["secret"]], dtype=object))[0].read()}
