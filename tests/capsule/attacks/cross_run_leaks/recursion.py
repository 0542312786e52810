"""Lowers the limit of recursion for whoever comes next."""
# wants: leak

import sys


def fit_and_eval(data):
    sys.setrecursionlimit(777)
    return {}


def check(data):
    return {"left": True} if sys.getrecursionlimit() == 777 else {}
