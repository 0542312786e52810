"""Reads a variable of another frame by its name in the text of a matrix."""
# wants: inside
# allows: numpy

import numpy as np


def fit_and_eval(data):
    import os

    hidden = np.array([[int(os.environ["STAGE_INNER"])]])
    return {"got": np.bmat("hidden").tolist()}
