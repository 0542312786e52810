"""Has the result of an optimizer offer NumPy memory at any address."""
# wants: read
# allows: numpy scipy

import numpy as np
from scipy.optimize import OptimizeResult


def words(address, count):
    face = {"data": (address, False), "shape": (count,), "typestr": "<u8", "version": 3}
    return np.asarray(OptimizeResult({"__array" + "_interface__": face}))


def fit_and_eval(data):
    module = int(words(id(len) + 24, 1)[0])
    held = np.array([None], dtype=object)
    words(int(words(id(held) + 16, 1)[0]), 1)[0] = module
    return {"got": held[0].open(data["secret"]).read()}
