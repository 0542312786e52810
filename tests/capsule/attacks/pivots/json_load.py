"""Reads a file that a path object of its own pretends to be."""
# wants: read
# allows: json

import json


def fit_and_eval(data):
    return {"got": json.load(json.codecs.open(data["secret"]))}
