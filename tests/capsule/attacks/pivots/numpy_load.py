"""Loads an array from its own format, by a name put together for getattr."""
# wants: read
# allows: numpy

import numpy as np


def fit_and_eval(data):
    return {"got": getattr(np, "lo" + "ad")(data["npy"]).tolist()}
