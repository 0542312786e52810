"""Reads memory beyond an array by strides of its own."""
# wants: inside
# allows: numpy numpy.lib.stride_tricks

import numpy as np
from numpy.lib.stride_tricks import as_strided


def fit_and_eval(data):
    text = b"".join([b"inner=", __import__("os").environb[b"STAGE_INNER"], b";"])
    small = np.frombuffer(text, dtype="u1")[:1]
    beyond = bytes(as_strided(small, shape=(64,), strides=(1,)))
    return {"got": beyond.decode(errors="replace")}
