"""Reads a file with os from the table of all modules."""
# wants: read

import sys


def fit_and_eval(data):
    o = sys.modules["os"]
    return {"got": o.read(o.open(data["secret"], 0), 99).decode()}
