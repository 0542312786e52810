"""Makes a directory with the built-in module behind os, which has no file to hide."""
# wants: write

import posix


def fit_and_eval(data):
    posix.mkdir(data["place"] + "/new")
    return {}
