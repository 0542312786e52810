"""Reads a file through a loader that an allowed module offers."""
# wants: read
# allows: numpy

import numpy as np


def fit_and_eval(data):
    return {"got": str(int(np.loadtxt(data["secret"])))}
