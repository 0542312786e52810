"""Finds modules for whoever comes next."""
# wants: leak

import sys


def fit_and_eval(data):
    sys.meta_path.append(fit_and_eval)
    return {}


def check(data):
    return {"left": True} if any(callable(one) and getattr(one, "__name__", "") == "fit_and_eval" for one in sys.meta_path) else {}
