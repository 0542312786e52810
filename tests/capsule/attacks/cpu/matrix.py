"""Multiplies matrices in a library that does not look at the clock."""
# wants: time
# allows: numpy

import numpy as np


def fit_and_eval(data):
    a = np.ones((900, 900))
    while True:
        a = a @ a / 900
