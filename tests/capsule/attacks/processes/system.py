"""Runs a line in a shell."""
# wants: write

import os


def fit_and_eval(data):
    os.system("mkdir " + data["place"] + "/new")
    return {}
