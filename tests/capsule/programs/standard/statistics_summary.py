"""Averages, spread, quantiles and a normal distribution."""
import statistics
from statistics import NormalDist, mean, median, mode, multimode, quantiles, stdev, variance


def fit_and_eval(data):
    values = [2.5, 3.5, 1.0, 4.0, 3.5, 2.0]
    normal = NormalDist(mu=100, sigma=15)
    slope, intercept = statistics.linear_regression(data, [2 * x + 1 for x in data])
    return {
        "mean": mean(values),
        "fmean": statistics.fmean(data),
        "median": [median(values), statistics.median_low(data), statistics.median_high([1, 2])],
        "mode": mode(values),
        "multimode": multimode("aabbc"),
        "stdev": round(stdev(values), 10),
        "variance": round(variance(values), 10),
        "pvariance": statistics.pvariance(data),
        "quantiles": quantiles(data, n=4),
        "geometric": round(statistics.geometric_mean([1, 10, 100]), 6),
        "harmonic": statistics.harmonic_mean([40, 60]),
        "correlation": round(statistics.correlation(data, [1, 4, 9, 16, 25]), 6),
        "line": [slope, intercept],
        "normal": [round(normal.cdf(115), 6), round(normal.inv_cdf(0.975), 4), round(normal.pdf(100), 6)],
        "from_samples": round(NormalDist.from_samples(values).stdev, 6),
        "covariance": statistics.covariance(data, data),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'mean': 2.75,
 'fmean': 3.0,
 'median': [3.0, 3, 2],
 'mode': 3.5,
 'multimode': ['a', 'b'],
 'stdev': 1.1291589791,
 'variance': 1.275,
 'pvariance': 2,
 'quantiles': [1.5, 3.0, 4.5],
 'geometric': 10.0,
 'harmonic': 48.0,
 'correlation': 0.981105,
 'line': [2.0, 1.0],
 'normal': [0.841345, 129.3995, 0.026596],
 'from_samples': 1.129159,
 'covariance': 2.5}
