"""Returns a number of a library's own, which is none."""
# wants: forged
# allows: numpy

import numpy as np


def fit_and_eval(data):
    return {"score": np.float64("nan")}
