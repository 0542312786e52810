"""Makes a directory with a function that is imported under a harmless name."""
# wants: write

from os import mkdir as sqrt


def fit_and_eval(data):
    sqrt(data["place"] + "/new")
    return {}
