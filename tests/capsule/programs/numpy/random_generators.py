"""Generators with seeds: distributions, choices, permutations and children."""
import numpy as np


def bootstrap_ci(values, rng, rounds=500):
    means = rng.choice(values, size=(rounds, len(values))).mean(axis=1)
    return np.percentile(means, [2.5, 97.5])


def fit_and_eval(data):
    rng = np.random.default_rng(42)
    children = np.random.SeedSequence(7).spawn(2)
    np.random.seed(0)
    legacy = np.random.RandomState(3)
    walk = np.cumsum(rng.choice([-1, 1], size=1000))
    return {
        "normal": np.round(rng.normal(10, 2, 3), 8),
        "integers": rng.integers(0, 100, 5),
        "choice": rng.choice(["a", "b", "c"], 4, p=[0.5, 0.3, 0.2]).tolist(),
        "permutation": rng.permutation(6),
        "children": [int(np.random.default_rng(c).integers(1000)) for c in children],
        "global": np.round(np.random.rand(2), 8),
        "legacy": legacy.randint(0, 10, 4),
        "walk": [int(walk[-1]), int(walk.max())],
        "interval": np.round(bootstrap_ci(np.array(data, dtype=float), rng), 6),
        "poisson": rng.poisson(3, 5),
        "covariance": np.round(rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 2).sum(), 6),
        "shuffled": (lambda a: (rng.shuffle(a), a.tolist())[1])(np.arange(5)),
        "pcg": round(np.random.Generator(np.random.PCG64(5)).random(), 10),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'normal': [12.86642901, 10.18304036, 11.16155419],
 'integers': [85, 50, 73, 52, 26],
 'choice': ['a', 'c', 'a', 'a'],
 'permutation': [1, 2, 4, 3, 5, 0],
 'children': [305, 681],
 'global': [0.5488135, 0.71518937],
 'legacy': [8, 9, 3, 8],
 'walk': [18, 23],
 'interval': [1.8, 4.305],
 'poisson': [1, 2, 3, 6, 3],
 'covariance': -0.204295,
 'shuffled': [2, 1, 3, 0, 4],
 'pcg': 0.8050029237}
