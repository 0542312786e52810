"""Has a column call the method that reads its attributes, by a name in a text."""
# wants: write
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    method = pd.Series([1]).agg("__getattribute__", 0, "to_csv")
    method(data["place"] + "/new")
    return {}
