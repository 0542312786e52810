"""Reads the bytes of a file into an array."""
# wants: read
# allows: numpy

import numpy as np


def fit_and_eval(data):
    return {"got": bytes(np.fromfile(data["secret"], dtype="u1")).decode()}
