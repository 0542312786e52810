"""Makes a link to a name."""
# wants: write

import os


def fit_and_eval(data):
    os.symlink("/", data["place"] + "/new")
    return {}
