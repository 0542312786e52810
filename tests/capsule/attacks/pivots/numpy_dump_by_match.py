"""Takes the method that pickles to a file from an array by a class pattern."""
# wants: write
# allows: numpy

import numpy as np


def fit_and_eval(data):
    match np.ones(3):
        case np.ndarray(dump=write):
            write(data["place"] + "/new")
    return {}
