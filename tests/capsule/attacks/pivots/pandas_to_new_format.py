"""Writes a file by a method of tables that came with a later version."""
# wants: write
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    writers = pd.DataFrame({"a": [1]}).style
    getattr(writers, "to_typst", writers.to_latex)(data["place"] + "/new")
    return {}
