"""Hides what is no number in an array inside of a list."""
# wants: forged
# allows: numpy

import numpy as np


def fit_and_eval(data):
    return {"scores": [np.array([1.0, -np.inf]).tolist()]}
