"""Has a query call the method that writes a table, by a name that is put together."""
# wants: write
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    path = data["place"] + "/new"
    pd.DataFrame({"a": [1]}).query("a.to_" + f"csv('{path}')", engine="python")
    return {}
