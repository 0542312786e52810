"""Writes a file through SciPy's module for sounds, which a spec lists."""
# wants: write
# allows: numpy scipy.io.wavfile

import numpy
import scipy.io.wavfile as w


def fit_and_eval(data):


    w.write(data["place"] + "/new", 8000, numpy.zeros(4, dtype="i2"))
    return {}
