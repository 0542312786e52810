"""Has a table evaluate by the name of a method that apply looks up."""
# wants: write
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    f = len
    path = data["place"] + "/new"
    df = pd.DataFrame({"a": [1]})
    text = "@f.__self__.open(@path, 'w').close()"
    df.apply("ev" + "al", args=(text,), local_dict={"f": f, "path": path}, engine="python")
    return {}
