"""Densities, quantiles, fits, draws and intervals of distributions."""
import numpy as np
from scipy.stats import beta, binom, chi2, expon, gamma, norm, poisson, t, uniform


def fit_and_eval(data):
    mean, sd = np.mean(data), np.std(data, ddof=1)
    low, high = t.interval(0.95, len(data) - 1, loc=mean, scale=sd / np.sqrt(len(data)))
    draws = norm.rvs(loc=5, scale=2, size=200, random_state=1)
    location, scale = norm.fit(draws)
    return {
        "norm": [round(float(v), 8) for v in (norm.cdf(1.96), norm.ppf(0.975), norm.pdf(0), norm.sf(3))],
        "interval": [round(float(low), 6), round(float(high), 6)],
        "fit": [round(float(location), 6), round(float(scale), 6)],
        "binom": round(float(binom.pmf(3, 10, 0.5)), 8),
        "poisson": round(float(poisson.cdf(2, 3)), 8),
        "expon": round(float(expon(scale=2).mean()), 6),
        "beta": [float(x) for x in np.round(beta(2, 3).stats(), 6)],
        "gamma": round(float(gamma.ppf(0.5, a=2)), 6),
        "chi2": round(float(chi2.isf(0.05, 3)), 6),
        "uniform": uniform.rvs(size=3, random_state=0).round(6),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'norm': [0.9750021, 1.95996398, 0.39894228, 0.0013499],
 'interval': [1.036757, 4.963243],
 'fit': [5.213378, 1.820092],
 'binom': 0.1171875,
 'poisson': 0.42319008,
 'expon': 2.0,
 'beta': [0.4, 0.04],
 'gamma': 1.678347,
 'chi2': 7.814728,
 'uniform': [0.548814, 0.715189, 0.602763]}
