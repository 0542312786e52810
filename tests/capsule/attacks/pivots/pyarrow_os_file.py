"""Reads a file through the library that pandas stands on."""
# wants: read
# allows: pyarrow

import pyarrow as pa


def fit_and_eval(data):
    return {"got": pa.OSFile(data["secret"]).read().decode()}
