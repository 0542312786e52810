"""Leaves a profiler behind, which sees every call of the next program."""
# wants: leak

import sys


def fit_and_eval(data):
    sys.setprofile(lambda *a: None)
    return {}


def check(data):
    return {"left": True} if sys.getprofile() is not None else {}
