"""Removes a file."""
# wants: write

import os


def fit_and_eval(data):
    os.unlink(data["victim"])
    return {}
