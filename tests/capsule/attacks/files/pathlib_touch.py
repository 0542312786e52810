"""Touches a file through the paths of the standard library."""
# wants: write

import pathlib


def fit_and_eval(data):
    pathlib.Path(data["place"], "new").touch()
    return {}
