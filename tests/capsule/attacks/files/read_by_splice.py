"""Moves a file through a pipe to its output, by the call that copies pages."""
# wants: read

import os


def fit_and_eval(data):
    reader, writer = os.pipe()
    os.splice(os.open(data["secret"], 0), writer, 99)
    return {"got": os.read(reader, 99).decode()}
