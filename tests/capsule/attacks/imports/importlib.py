"""Removes a file through importlib, under the name of an allowed module."""
# wants: write
# allows: math

import importlib as math


def fit_and_eval(data):
    math.import_module("os").unlink(data["victim"])
    return {}
