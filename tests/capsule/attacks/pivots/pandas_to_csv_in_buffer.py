"""Writes a file by what passes for a buffer in memory."""
# wants: write
# allows: io pandas

import io

import pandas as pd


class Buffer(io.StringIO):
    pass


def fit_and_eval(data):
    class Place(str):
        pass

    table = pd.DataFrame({"a": [1]})
    table.to_csv(Place(data["place"] + "/new"))
    return {"text": table.to_csv(Buffer())}
