"""Makes a pipe with a name."""
# wants: write

import os


def fit_and_eval(data):
    os.mkfifo(data["place"] + "/new")
    return {}
