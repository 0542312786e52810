"""Writes a table to a file."""
# wants: write
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    pd.DataFrame({"a": [1]}).to_csv(data["place"] + "/new")
    return {}
