"""Has a report about versions written to a path."""
# wants: write
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    pd.show_versions(as_json=data["place"] + "/new")
    return {}
