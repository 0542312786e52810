"""Has a table call its own method that writes files, by a name in a text."""
# wants: write
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    pd.DataFrame({"a": [1]}).apply("to_" + "csv", args=(data["place"] + "/new",))
    return {}
