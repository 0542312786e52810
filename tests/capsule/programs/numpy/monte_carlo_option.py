"""The price of an option by simulation and by its formula."""
import math

import numpy as np


def black_scholes(s, k, t, r, sigma):
    d1 = (math.log(s / k) + (r + sigma**2 / 2) * t) / (sigma * math.sqrt(t))
    d2 = d1 - sigma * math.sqrt(t)
    normal = lambda x: (1 + math.erf(x / math.sqrt(2))) / 2
    return s * normal(d1) - k * math.exp(-r * t) * normal(d2)


def simulate(s, k, t, r, sigma, paths, rng):
    z = rng.standard_normal(paths)
    z = np.concatenate([z, -z])
    final = s * np.exp((r - sigma**2 / 2) * t + sigma * np.sqrt(t) * z)
    payoff = np.exp(-r * t) * np.maximum(final - k, 0)
    return payoff.mean(), payoff.std(ddof=1) / np.sqrt(len(payoff))


def fit_and_eval(data):
    exact = black_scholes(100, 105, 1.0, 0.05, 0.2)
    price, error = simulate(100, 105, 1.0, 0.05, 0.2, 50_000, np.random.default_rng(2026))
    return {
        "exact": round(exact, 6),
        "within": bool(abs(price - exact) < 4 * error),
        "error": bool(error < 0.06),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'exact': 8.021352, 'within': True, 'error': True}
