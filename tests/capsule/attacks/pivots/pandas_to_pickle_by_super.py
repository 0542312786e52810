"""Writes a file by a method of a base class whose name it puts together."""
# wants: write
# allows: pandas

import pandas as pd


class Table(pd.DataFrame):
    def kept(self, place):
        return getattr(super(), "to_" + "pickle")(place)


def fit_and_eval(data):
    Table({"a": [1]}).kept(data["place"] + "/new")
    return {}
