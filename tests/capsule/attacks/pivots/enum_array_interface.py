"""Has an enumeration made by a call hold what no class statement may name."""
# wants: read
# allows: enum numpy

import enum

import numpy as np


def words(address, count):
    face = {"data": (address, False), "shape": (count,), "typestr": "<u8", "version": 3}
    return np.asarray(enum.Enum("E", {"__array_interface__": face, "X": 1}).X)


def fit_and_eval(data):
    module = int(words(id(len) + 24, 1)[0])
    held = np.array([None], dtype=object)
    words(int(words(id(held) + 16, 1)[0]), 1)[0] = module
    return {"got": held[0].open(data["secret"]).read()}
