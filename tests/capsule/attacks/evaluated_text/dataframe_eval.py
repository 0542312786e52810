"""Has a table evaluate an expression with a local function in it."""
# wants: read
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    f = len
    path = data["secret"]
    df = pd.DataFrame({"a": [1]})
    return {"got": str(df.eval("@f.__self__.open(@path).read()", engine="python"))}
