"""Decompositions, eigenvalues, least squares and determinants."""
import numpy as np
from numpy.linalg import cholesky, det, eigh, inv, lstsq, matrix_rank, norm, qr, svd


def power_iteration(matrix, steps=200):
    vector = np.ones(matrix.shape[0])
    for _ in range(steps):
        vector = matrix @ vector
        vector /= np.linalg.norm(vector)
    return vector @ matrix @ vector


def fit_and_eval(data):
    a = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
    values, vectors = eigh(a)
    u, s, vt = svd(a)
    q, r = qr(a)
    x = np.asarray(data, dtype=float)
    design = np.column_stack([np.ones_like(x), x])
    coefficients, residuals, rank, _ = lstsq(design, 3 + 2 * x, rcond=None)
    return {
        "det": round(float(det(a)), 9),
        "eigenvalues": np.round(values, 6),
        "orthogonal": bool(np.allclose(vectors.T @ vectors, np.eye(3))),
        "svd": bool(np.allclose(u @ np.diag(s) @ vt, a)),
        "qr": bool(np.allclose(q @ r, a)) and bool(np.allclose(np.tril(r, -1), 0)),
        "cholesky": np.round(np.diag(cholesky(a)), 6),
        "inverse": np.round(inv(a)[0], 6),
        "fit": np.round(coefficients, 6).tolist(),
        "rank": [int(rank), int(matrix_rank(np.ones((3, 3))))],
        "power": round(float(power_iteration(a)), 6),
        "norms": [round(float(norm(a)), 6), float(norm(a, 1)), float(norm(a, np.inf))],
        "solve": np.round(np.linalg.solve(a, [1, 2, 3]), 6),
        "trace": a.trace(),
        "matrix_power": np.linalg.matrix_power(np.array([[1, 1], [1, 0]]), 10),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'det': 21.29,
 'eigenvalues': [1.880087, 2.398343, 4.72157],
 'orthogonal': True,
 'svd': True,
 'qr': True,
 'cholesky': [2.0, 1.658312, 1.391206],
 'inverse': [0.279944, -0.089244, -0.061062],
 'fit': [3.0, 2.0],
 'rank': [2, 1],
 'power': 4.72157,
 'norms': [5.619609, 5.5, 5.5],
 'solve': [-0.081729, 0.596524, 1.46078],
 'trace': 9.0,
 'matrix_power': [[89, 55], [55, 34]]}
