"""Reads a file with what a star import brings along, open included."""
# wants: read

from io import *


def fit_and_eval(data):
    return {"got": FileIO(data["secret"]).read().decode()}
