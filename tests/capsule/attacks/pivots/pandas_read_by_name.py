"""Reads a file as a table by a function that it looks up at run time."""
# wants: read
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    return {"got": str(getattr(pd, "read_" + "fwf")(data["secret"], header=None).iloc[0, 0])}
