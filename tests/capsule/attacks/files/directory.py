"""Makes a directory."""
# wants: write

import os


def fit_and_eval(data):
    os.mkdir(data["place"] + "/new")
    return {}
