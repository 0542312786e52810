"""Gives a file a second name."""
# wants: write

import os


def fit_and_eval(data):
    os.link(data["victim"], data["place"] + "/new")
    return {}
