"""Has pandas evaluate an expression that reaches beyond the columns."""
# wants: read
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    f = len
    path = data["secret"]
    return {"got": str(pd.eval("f.__self__.open(path).read()", engine="python"))}
