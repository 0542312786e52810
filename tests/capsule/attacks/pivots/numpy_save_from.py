"""Imports the function that saves arrays by its name."""
# wants: write
# allows: numpy

from numpy import save as keep


def fit_and_eval(data):
    keep(data["place"] + "/new", [1])
    return {}
