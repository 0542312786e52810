"""Clusters by Lloyd's algorithm, principal components by the SVD."""
import numpy as np


def kmeans(points, k, rng, rounds=50):
    centres = points[rng.choice(len(points), k, replace=False)]
    for _ in range(rounds):
        distance = np.linalg.norm(points[:, None] - centres[None], axis=2)
        labels = distance.argmin(axis=1)
        moved = np.array([points[labels == i].mean(axis=0) if (labels == i).any() else centres[i] for i in range(k)])
        if np.allclose(moved, centres):
            break
        centres = moved
    return labels, centres


def pca(points, components):
    centred = points - points.mean(axis=0)
    _, s, vt = np.linalg.svd(centred, full_matrices=False)
    return centred @ vt[:components].T, (s**2 / (s**2).sum())[:components]


def fit_and_eval(data):
    rng = np.random.default_rng(3)
    means = np.array([[0, 0, 0], [8, 8, 0], [0, 8, 8]])
    points = np.concatenate([rng.normal(m, 0.5, (30, 3)) for m in means])
    labels, centres = kmeans(points, 3, rng)
    projected, explained = pca(points, 2)
    return {
        "sizes": np.bincount(labels, minlength=3).tolist(),
        "pure": [len(set(labels[i : i + 30].tolist())) for i in (0, 30, 60)],
        "shape": projected.shape,
        "explained": np.round(explained, 4),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'sizes': [30, 30, 30],
 'pure': [1, 1, 1],
 'shape': [90, 2],
 'explained': [0.5031, 0.4901]}
