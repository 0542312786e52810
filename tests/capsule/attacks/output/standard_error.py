"""Writes to the other output, which may not be counted."""
# wants: output

import os


def fit_and_eval(data):
    os.write(2, b"y" * 60_000)
    return {}
