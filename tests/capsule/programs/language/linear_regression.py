"""Least squares and gradient descent without any package."""
def fit_line(xs, ys):
    n = len(xs)
    mean_x, mean_y = sum(xs) / n, sum(ys) / n
    sxy = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys))
    sxx = sum((x - mean_x) ** 2 for x in xs)
    slope = sxy / sxx
    return slope, mean_y - slope * mean_x


def descend(xs, ys, rate=0.05, steps=2000):
    slope = intercept = 0.0
    n = len(xs)
    for _ in range(steps):
        errors = [slope * x + intercept - y for x, y in zip(xs, ys)]
        slope -= rate * 2 / n * sum(e * x for e, x in zip(errors, xs))
        intercept -= rate * 2 / n * sum(errors)
    return slope, intercept


def r_squared(ys, predictions):
    mean = sum(ys) / len(ys)
    residual = sum((y - p) ** 2 for y, p in zip(ys, predictions))
    total = sum((y - mean) ** 2 for y in ys)
    return 1 - residual / total


def fit_and_eval(data):
    xs = list(data)
    ys = [2 * x + 1 + (0.5 if x % 2 else -0.5) for x in xs]
    slope, intercept = fit_line(xs, ys)
    approximate = descend(xs, ys)
    predictions = [slope * x + intercept for x in xs]
    return {
        "slope": round(slope, 10),
        "intercept": round(intercept, 10),
        "r2": round(r_squared(ys, predictions), 6),
        "descended": [round(v, 4) for v in approximate],
        "assert": all(abs(a - b) < 1e-3 for a, b in zip(approximate, (slope, intercept))),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'slope': 2.0,
 'intercept': 1.1,
 'r2': 0.970874,
 'descended': [2.0, 1.1],
 'assert': True}
