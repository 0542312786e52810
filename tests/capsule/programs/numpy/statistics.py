"""Percentiles, histograms, correlations, sets and polynomials."""
import numpy as np
from numpy.polynomial import Polynomial


def fit_and_eval(data):
    x = np.array(data, dtype=float)
    y = x**2
    rolled = np.convolve(x, np.ones(3) / 3, "valid")
    counts, edges = np.histogram([1, 2, 2, 3, 3, 3], bins=3)
    values, frequency = np.unique(["b", "a", "b"], return_counts=True)
    return {
        "percentiles": np.percentile(x, [25, 50, 75]),
        "variance": [x.var(), x.var(ddof=1)],
        "correlation": np.round(np.corrcoef(x, y), 6),
        "covariance": np.cov(x, y)[0, 1],
        "histogram": [counts.tolist(), np.round(edges, 6).tolist()],
        "unique": dict(zip(values.tolist(), frequency.tolist())),
        "sets": [np.union1d([1, 2], [2, 3]).tolist(), np.intersect1d([1, 2], [2, 3]).tolist(), np.isin(2, [1, 2]).item()],
        "polyfit": np.round(np.polyfit(x, y, 2), 6) + 0.0,
        "polyval": np.polyval([1, 0, 1], 3),
        "polynomial": np.round(Polynomial.fit(x, 2 * x + 1, 1).convert().coef, 6),
        "roots": np.sort(np.roots([1, -3, 2])),
        "rolled": np.round(rolled, 6),
        "gradient": np.gradient(y),
        "interpolated": np.interp(2.5, x, y),
        "bincount": np.bincount([0, 1, 1, 3]),
        "digitize": np.digitize([0.5, 1.5], [0, 1, 2]),
        "median": np.median(x),
        "diff": np.diff(y),
        "ptp": np.ptp(x),
        "argsort": np.argsort([3, 1, 2]),
        "average": np.average(x, weights=x),
        "printed": np.array2string(x, precision=1),
        "lexsort": np.lexsort(([1, 0, 1], [2, 2, 1])),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'percentiles': [2.0, 3.0, 4.0],
 'variance': [2.0, 2.5],
 'correlation': [[1.0, 0.981105], [0.981105, 1.0]],
 'covariance': 15.0,
 'histogram': [[1, 2, 3], [1.0, 1.666667, 2.333333, 3.0]],
 'unique': {'a': 1, 'b': 2},
 'sets': [[1, 2, 3], [2], True],
 'polyfit': [1.0, 0.0, 0.0],
 'polyval': 10,
 'polynomial': [1.0, 2.0],
 'roots': [1.0, 2.0],
 'rolled': [2.0, 3.0, 4.0],
 'gradient': [3.0, 4.0, 6.0, 8.0, 9.0],
 'interpolated': 6.5,
 'bincount': [1, 2, 0, 1],
 'digitize': [1, 2],
 'median': 3.0,
 'diff': [3.0, 5.0, 7.0, 9.0],
 'ptp': 4.0,
 'argsort': [1, 2, 0],
 'average': 3.6666666666666665,
 'printed': '[1. 2. 3. 4. 5.]',
 'lexsort': [2, 1, 0]}
