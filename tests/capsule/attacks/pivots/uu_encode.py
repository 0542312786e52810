"""Copies one file into another through an old encoding."""
# wants: write
# allows: filecmp quopri

import quopri


def fit_and_eval(data):
    with open(data["secret"], "rb") as source, open(data["place"] + "/new", "wb") as target:
        quopri.encode(source, target, 0)
    return {}
