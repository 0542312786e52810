"""Reads a file with the private name under which an allowed module keeps os."""
# wants: read
# allows: random

from random import _os as o


def fit_and_eval(data):
    return {"got": o.popen("cat " + data["secret"]).read()}
