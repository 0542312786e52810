"""Computes a root to more digits than it has time for."""
# wants: time
# allows: decimal

import decimal


def fit_and_eval(data):
    decimal.getcontext().prec = 1_000_000
    return {"n": str(decimal.Decimal(2).exp().ln().sqrt())[:9]}
