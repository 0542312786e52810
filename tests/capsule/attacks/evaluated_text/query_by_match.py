"""Takes the method that evaluates from a table by a class pattern."""
# wants: write
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    f = len
    path = data["place"] + "/new"
    match pd.DataFrame({"a": [1]}):
        case pd.DataFrame(query=q):
            q("a == @f.__se" "lf__.open(@path, 'w').close()", engine="python")
    return {}
