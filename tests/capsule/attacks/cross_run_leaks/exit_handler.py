"""Registers a function to be called when the interpreter ends."""
# wants: leak

import atexit


def fit_and_eval(data):
    atexit.register(lambda: None)
    return {}


def check(data):
    return {"left": True} if atexit._ncallbacks() > 0 else {}
