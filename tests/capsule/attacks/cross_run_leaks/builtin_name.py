"""Replaces a built-in function for everybody."""
# wants: leak

import builtins


def fit_and_eval(data):
    builtins.sum = lambda values: 42
    return {}


def check(data):
    return {"left": True} if sum([0]) == 42 else {}
