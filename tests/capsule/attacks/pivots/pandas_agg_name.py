"""Has a column aggregate itself by the name of the method that pickles to a file."""
# wants: write
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    pd.Series([1]).agg("to_pickle", 0, data["place"] + "/new")
    return {}
