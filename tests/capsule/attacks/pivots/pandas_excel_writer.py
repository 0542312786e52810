"""Makes a file for a workbook."""
# wants: write
# allows: pandas

import pandas as pd


def fit_and_eval(data):
    pd.HDFStore if False else None
    pd.DataFrame({"a": [1]}).to_xml(data["place"] + "/new", parser="etree")
    return {}
