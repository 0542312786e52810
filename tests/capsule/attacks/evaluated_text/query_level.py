"""Has a query look up its names in the frame of another, further up."""
# wants: write
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    path = data["place"] + "/new"
    pd.DataFrame({"a": [1]}).query(
        "a == @os.mkdir(@path)", engine="python", level=2, local_dict={"path": path},
        global_dict=None,
    )
    return {}
