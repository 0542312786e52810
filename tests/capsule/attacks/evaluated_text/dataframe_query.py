"""Has a table filter its rows by an expression that opens a file on the way."""
# wants: write
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    f = len
    path = data["place"] + "/new"
    df = pd.DataFrame({"a": [1]})
    df.query("a == @f.__self__.open(@path, 'w').close()", engine="python")
    return {}
