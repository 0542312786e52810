"""Looks for keys in the home of the user, by the path of another secret."""
# wants: read

import os
import pathlib


def fit_and_eval(data):
    os.environ["HOME"] = data["place"]
    return {"got": (pathlib.Path.home() / "secret").read_text()}
