"""Has a query call the method that writes a column as JSON, by a name that is put together."""
# wants: write
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    path = data["place"] + "/new"
    pd.DataFrame({"a": [1]}).query("a.to_" + f"json('{path}')", engine="python")
    return {}
