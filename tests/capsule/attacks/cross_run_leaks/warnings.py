"""Makes warnings into errors for whoever comes next."""
# wants: leak

import warnings


def fit_and_eval(data):
    warnings.filterwarnings("error", message="left")
    return {}


def check(data):
    return {"left": True} if any("left" in str(one) for one in warnings.filters) else {}
