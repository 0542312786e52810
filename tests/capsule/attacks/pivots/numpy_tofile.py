"""Writes a file with the method of an array."""
# wants: write
# allows: numpy

import numpy as np


def fit_and_eval(data):
    np.ones(3).tofile(data["place"] + "/new")
    return {}
