"""Ranks of pages, a stationary distribution and powers of a chain."""
import numpy as np


def pagerank(links, damping=0.85, tolerance=1e-10):
    n = len(links)
    matrix = np.zeros((n, n))
    for source, targets in links.items():
        if targets:
            matrix[targets, source] = 1 / len(targets)
        else:
            matrix[:, source] = 1 / n
    rank = np.full(n, 1 / n)
    while True:
        updated = (1 - damping) / n + damping * matrix @ rank
        if np.abs(updated - rank).sum() < tolerance:
            return updated
        rank = updated


def fit_and_eval(data):
    ranks = pagerank({0: [1, 2], 1: [2], 2: [0], 3: [2]})
    chain = np.array([[0.9, 0.1], [0.5, 0.5]])
    values, vectors = np.linalg.eig(chain.T)
    stationary = np.real(vectors[:, np.argmax(np.real(values))])
    stationary /= stationary.sum()
    return {
        "ranks": np.round(ranks, 6),
        "total": round(float(ranks.sum()), 9),
        "stationary": np.round(stationary, 6),
        "power": np.round(np.linalg.matrix_power(chain, 50)[0], 6),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'ranks': [0.372527, 0.195824, 0.394149, 0.0375],
 'total': 1.0,
 'stationary': [0.833333, 0.166667],
 'power': [0.833333, 0.166667]}
