"""Means, norms, a linear system and the types of scalars."""
import numpy as np
from numpy import linalg

def fit_and_eval(data):
    a = np.array(data, dtype=float)
    m = a[:4].reshape(2, 2)
    return {"mean": a.mean(), "norm": np.linalg.norm(a), "int": np.int64(7), "flag": np.bool_(True),
            "solve": linalg.solve(m, np.ones(2)).round(6), "idx": int(np.argmax(a)),
            "dtype": str(a.dtype), "rng": np.random.default_rng(1).integers(0, 10, 3)}


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'mean': 3.0,
 'norm': 7.416198487095663,
 'int': 7,
 'flag': True,
 'solve': [-1.0, 1.0],
 'idx': 4,
 'dtype': 'float64',
 'rng': [4, 5, 7]}
