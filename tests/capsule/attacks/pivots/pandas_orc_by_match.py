"""Takes the method that writes another column format from a table by a class pattern."""
# wants: write
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    match pd.DataFrame({"a": [1]}):
        case pd.DataFrame(to_orc=write):
            write(data["place"] + "/new")
    return {}
