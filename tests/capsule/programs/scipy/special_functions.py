"""Gamma, error, Bessel and other functions with names."""
import numpy as np
from scipy import constants, special
from scipy.special import comb, erf, expit, factorial, gamma, jv, logit, logsumexp, softmax


def fit_and_eval(data):
    return {
        "gamma": gamma([0.5, 5]).round(8),
        "erf": round(float(erf(1)), 8),
        "bessel": round(float(jv(0, 2.4048)), 4) + 0.0,
        "comb": comb(10, 3, exact=True),
        "factorial": factorial([3, 5]),
        "expit": expit(np.array([-1.0, 0, 1])).round(6),
        "logit": round(float(logit(0.75)), 6),
        "logsumexp": round(float(logsumexp([1000, 1000])), 6),
        "softmax": softmax([1.0, 2, 3]).round(6),
        "legendre": special.eval_legendre(2, 0.5),
        "beta": round(float(special.beta(2, 3)), 6),
        "zeta": round(float(special.zeta(2)), 6),
        "ellipk": round(float(special.ellipk(0.5)), 6),
        "airy": round(float(special.airy(0)[0]), 6),
        "binary": round(float(special.entr(0.5)), 6),
        "roots": special.roots_legendre(2)[0].round(6),
        "light": constants.c,
        "inch": constants.inch,
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'gamma': [1.77245385, 24.0],
 'erf': 0.84270079,
 'bessel': 0.0,
 'comb': 120,
 'factorial': [6.0, 120.0],
 'expit': [0.268941, 0.5, 0.731059],
 'logit': 1.098612,
 'logsumexp': 1000.693147,
 'softmax': [0.090031, 0.244728, 0.665241],
 'legendre': -0.125,
 'beta': 0.083333,
 'zeta': 1.644934,
 'ellipk': 1.854075,
 'airy': 0.355028,
 'binary': 0.346574,
 'roots': [-0.57735, 0.57735],
 'light': 299792458.0,
 'inch': 0.0254}
