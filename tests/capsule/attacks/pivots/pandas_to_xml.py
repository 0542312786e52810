"""Writes a table to a file as a document."""
# wants: write
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    pd.DataFrame({"a": [1]}).to_xml(data["place"] + "/new", parser="etree")
    return {}
