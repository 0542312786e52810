"""Asks for the size without following links."""
# wants: metadata

import os


def fit_and_eval(data):
    return {"got": os.lstat(data["sized"]).st_size}
