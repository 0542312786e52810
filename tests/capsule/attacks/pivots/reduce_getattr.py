"""Folds a list of names with getattr, from an innocent object on."""
# wants: read
# allows: functools

import functools


def fit_and_eval(data):
    return {"got": functools.reduce(getattr, ["__self__", "open"], len)(data["secret"]).read()}
