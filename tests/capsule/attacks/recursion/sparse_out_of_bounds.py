"""Has a sparse matrix write outside of the dense one that it becomes."""
# wants: crash
# allows: numpy scipy

import numpy as np
from scipy.sparse import csr_matrix


def fit_and_eval(data):
    a = csr_matrix((np.ones(1), np.array([0]), np.array([0, 1])), shape=(1, 1))
    a.indices[0] = 2_000_000_000
    return {"n": float(a.toarray()[0, 0])}
