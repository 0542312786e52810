"""Pipes a table into an unbound method that writes."""
# wants: write
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    pd.DataFrame({"a": [1]}).pipe(pd.DataFrame.to_json, data["place"] + "/new")
    return {}
