"""Makes a file that is empty."""
# wants: write

import os


def fit_and_eval(data):
    os.open(data["place"] + "/new", os.O_CREAT | os.O_WRONLY)
    return {}
