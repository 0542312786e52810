"""Has NumPy's own error handling call a method of an object for every division."""
# wants: read
# allows: numpy

import numpy as np


class Log:
    def write(self, message):
        Log.got = open(Log.path).read()


def fit_and_eval(data):
    Log.path = data["secret"]
    np.seterrcall(Log())
    np.seterr(divide="log")
    np.ones(1) / np.zeros(1)
    return {"got": Log.got}
