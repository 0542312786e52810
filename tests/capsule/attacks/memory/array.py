"""Makes an array that is full of ones."""
# wants: memory
# allows: numpy

import numpy as np


def fit_and_eval(data):
    return {"n": int(np.ones(32_000_000).size)}
