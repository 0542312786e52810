"""Reads a file as a table."""
# wants: read
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    return {"got": list(pd.read_csv(data["secret"]).columns)}
