"""Lists a directory with the facts of every entry."""
# wants: metadata

import os


def fit_and_eval(data):
    return {"got": [e.stat().st_size for e in os.scandir(data["place"])]}
