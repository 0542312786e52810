"""Changes an option of a library for all its users."""
# wants: leak
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    pd.set_option("display.max_rows", 4711)
    return {}


def check(data):
    return {"left": True} if pd.get_option("display.max_rows") == 4711 else {}
