"""Distances, tables, standardised columns and masks without a loop."""
import numpy as np


def pairwise_distances(points):
    differences = points[:, None, :] - points[None, :, :]
    return np.sqrt((differences**2).sum(axis=-1))


def softmax(x, axis=-1):
    shifted = np.exp(x - x.max(axis=axis, keepdims=True))
    return shifted / shifted.sum(axis=axis, keepdims=True)


def one_hot(labels, classes):
    return np.eye(classes, dtype=int)[labels]


def fit_and_eval(data):
    points = np.array([[0, 0], [3, 4], [6, 8]], dtype=float)
    table = np.arange(1, 5)[:, np.newaxis] * np.arange(1, 5)
    x = np.arange(12, dtype=float).reshape(4, 3)
    standard = (x - x.mean(axis=0)) / x.std(axis=0)
    a = np.arange(10)
    clipped = np.clip(a, 2, 6)
    return {
        "distances": pairwise_distances(points),
        "table": table,
        "standard": np.round(standard[:, 0], 6),
        "softmax": np.round(softmax(np.array([[1.0, 2.0, 3.0]])), 6),
        "one_hot": one_hot(np.array([0, 2, 1]), 3),
        "mask": a[(a % 2 == 0) & (a > 3)],
        "where": np.where(a > 5, a, -1),
        "fancy": a[[1, 3, 5]] + a[::-1][:3],
        "clipped": clipped,
        "outer": np.add.outer([1, 2], [10, 20]),
        "cumulative": np.cumsum(data),
        "shape": np.broadcast_shapes((3, 1), (1, 4)),
        "stacked": [np.vstack([a[:2], a[2:4]]).shape, np.concatenate([a, a]).size, np.hstack([x, x]).shape],
        "split": [part.tolist() for part in np.array_split(a, 3)],
        "tile": np.tile([1, 2], 2),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'distances': [[0.0, 5.0, 10.0], [5.0, 0.0, 5.0], [10.0, 5.0, 0.0]],
 'table': [[1, 2, 3, 4], [2, 4, 6, 8], [3, 6, 9, 12], [4, 8, 12, 16]],
 'standard': [-1.341641, -0.447214, 0.447214, 1.341641],
 'softmax': [[0.090031, 0.244728, 0.665241]],
 'one_hot': [[1, 0, 0], [0, 0, 1], [0, 1, 0]],
 'mask': [4, 6, 8],
 'where': [-1, -1, -1, -1, -1, -1, 6, 7, 8, 9],
 'fancy': [10, 11, 12],
 'clipped': [2, 2, 2, 3, 4, 5, 6, 6, 6, 6],
 'outer': [[11, 21], [12, 22]],
 'cumulative': [1, 3, 6, 10, 15],
 'shape': [3, 4],
 'stacked': [[2, 2], 20, [4, 6]],
 'split': [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]],
 'tile': [1, 2, 1, 2]}
