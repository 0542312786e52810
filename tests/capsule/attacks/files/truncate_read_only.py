"""Empties a file by opening it for reading, with the flag that cuts it off."""
# wants: write

import os


def fit_and_eval(data):
    os.open(data["victim"], os.O_RDONLY | os.O_TRUNC)
    return {}
