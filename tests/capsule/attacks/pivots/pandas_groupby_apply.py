"""Has the groups of a table call a method by its name, with what they are given."""
# wants: write
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    g = pd.DataFrame({"a": [1], "b": [2]}).groupby("a")
    g.apply(lambda t: t.agg("to_json", 0, data["place"] + "/new"))
    return {}
