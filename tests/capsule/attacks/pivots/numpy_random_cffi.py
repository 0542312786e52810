"""Reaches ctypes through the interface of a random generator."""
# wants: write
# allows: numpy

import numpy as np


def fit_and_eval(data):
    table = np.random.PCG64().ctypes
    lib = type(table.next_double).__mro__[1].__subclasses__()
    c = __import__("ctypes").CDLL(None)
    c.mkdir((data["place"] + "/new").encode(), 0o700)
    return {"n": len(lib)}
