"""Loads posix through the importer that a built-in module carries along."""
# wants: write
# allows: math time

import time


def fit_and_eval(data):
    posix = time.__loader__.load_module("posix")
    posix.mkdir(data["place"] + "/new")
    return {}
