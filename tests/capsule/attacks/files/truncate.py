"""Empties a file."""
# wants: write

import os


def fit_and_eval(data):
    os.truncate(data["victim"], 0)
    return {}
