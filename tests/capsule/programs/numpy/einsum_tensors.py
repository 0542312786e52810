"""Sums over named axes: products, traces, attention and a tensor rotated."""
import numpy as np


def attention(q, k, v):
    scores = np.einsum("bqd,bkd->bqk", q, k) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("bqk,bkd->bqd", weights, v)


def fit_and_eval(data):
    a = np.arange(6).reshape(2, 3)
    b = np.arange(12).reshape(3, 4)
    cube = np.arange(27).reshape(3, 3, 3)
    q = np.linspace(-1, 1, 12).reshape(1, 3, 4)
    out = attention(q, q, q)
    return {
        "product": np.einsum("ij,jk->ik", a, b),
        "trace": int(np.einsum("iii->", cube)),
        "diagonal": np.einsum("ii->i", cube[0]),
        "transposed": np.einsum("ijk->kij", cube)[0].tolist(),
        "outer": np.einsum("i,j->ij", [1, 2], [3, 4]),
        "optimised": np.einsum("ij,jk,kl->il", a, b, b.T, optimize=True).sum(),
        "attention": np.round(out[0, 0], 6),
        "tensordot": np.tensordot(a, b, axes=1).shape,
        "kron": np.kron([1, 10], [1, 2]),
        "cross": np.cross([1, 0, 0], [0, 1, 0]),
        "inner": np.inner(data, data),
        "moved": np.moveaxis(np.zeros((2, 3, 4)), 0, -1).shape,
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'product': [[20, 23, 26, 29], [56, 68, 80, 92]],
 'trace': 39,
 'diagonal': [0, 4, 8],
 'transposed': [[0, 3, 6], [9, 12, 15], [18, 21, 24]],
 'outer': [[3, 4], [6, 8]],
 'optimised': 6726,
 'attention': [-0.708497, -0.526679, -0.344861, -0.163043],
 'tensordot': [2, 4],
 'kron': [1, 2, 10, 20],
 'cross': [0, 0, 1],
 'inner': 55,
 'moved': [3, 4, 2]}
