"""Writes a table in a column format, by a library that pandas brings along."""
# wants: write
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    pd.DataFrame({"a": [1]}).to_parquet(data["place"] + "/new")
    return {}
