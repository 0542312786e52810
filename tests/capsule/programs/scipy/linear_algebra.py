"""Decompositions, exponentials and solutions of special systems."""
import numpy as np
from scipy import linalg


def fit_and_eval(data):
    a = np.array([[4.0, 2.0, 1.0], [2.0, 5.0, 3.0], [1.0, 3.0, 6.0]])
    p, l, u = linalg.lu(a)
    c, low = linalg.cho_factor(a)
    return {
        "lu": bool(np.allclose(p @ l @ u, a)),
        "cholesky": np.round(linalg.cho_solve((c, low), [1, 2, 3]), 6),
        "expm": np.round(linalg.expm(np.array([[0, 1], [-1, 0]]) * np.pi), 6) + 0.0,
        "det": round(float(linalg.det(a)), 6),
        "eigenvalues": np.round(linalg.eigvalsh(a), 6),
        "schur": bool(np.allclose(np.tril(linalg.schur(a)[0], -1), 0, atol=1e-8)),
        "null": linalg.null_space(np.ones((2, 3))).shape,
        "toeplitz": linalg.toeplitz([1, 2, 3]),
        "triangular": np.round(linalg.solve_triangular(np.tril(a), [4, 9, 16], lower=True), 6),
        "pinv": bool(np.allclose(linalg.pinv(a), linalg.inv(a))),
        "sqrtm": bool(np.allclose(linalg.sqrtm(a) @ linalg.sqrtm(a), a)),
        "block": linalg.block_diag([[1]], [[2, 3]]).tolist(),
        "svd": np.round(linalg.svdvals(a), 6),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'lu': True,
 'cholesky': [0.089552, 0.104478, 0.432836],
 'expm': [[-1.0, 0.0], [0.0, -1.0]],
 'det': 67.0,
 'eigenvalues': [1.921347, 3.730159, 9.348494],
 'schur': True,
 'null': [3, 2],
 'toeplitz': [[1, 2, 3], [2, 1, 2], [3, 2, 1]],
 'triangular': [1.0, 1.4, 1.8],
 'pinv': True,
 'sqrtm': True,
 'block': [[1, 0, 0], [0, 2, 3]],
 'svd': [9.348494, 3.730159, 1.921347]}
