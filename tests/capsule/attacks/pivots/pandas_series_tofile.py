"""Writes the raw bytes of a column, by way of its array."""
# wants: write
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    method = getattr(pd.Series([1, 2]).to_numpy(), "".join(["to", "file"]))
    method(data["place"] + "/new")
    return {}
