"""Asks how large a file is."""
# wants: metadata

import os


def fit_and_eval(data):
    return {"got": os.stat(data["sized"]).st_size}
