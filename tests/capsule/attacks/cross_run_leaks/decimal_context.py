"""Changes how precise decimals are from now on."""
# wants: leak
# allows: decimal

import decimal


def fit_and_eval(data):
    decimal.getcontext().prec = 3
    decimal.DefaultContext.prec = 3
    return {}


def check(data):
    return {"left": True} if decimal.getcontext().prec == 3 else {}
