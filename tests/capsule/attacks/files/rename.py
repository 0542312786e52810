"""Renames a file."""
# wants: write

import os


def fit_and_eval(data):
    os.rename(data["victim"], data["place"] + "/new")
    return {}
