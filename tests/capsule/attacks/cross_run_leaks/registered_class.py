"""Registers a class with an abstract one, which remembers it."""
# wants: leak
# allows: collections collections.abc

import collections.abc


def fit_and_eval(data):
    collections.abc.Sized.register(complex)
    return {}


def check(data):
    return {"left": True} if isinstance(1j, collections.abc.Sized) else {}
