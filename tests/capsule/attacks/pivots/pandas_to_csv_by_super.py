"""Writes a file by the method of a base class, from a class of its own."""
# wants: write
# allows: pandas

import pandas as pd


class Table(pd.DataFrame):
    def kept(self, place):
        return super().to_csv(place)


def fit_and_eval(data):
    Table({"a": [1]}).kept(data["place"] + "/new")
    return {}
