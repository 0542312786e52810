"""Copies a file to its output inside the kernel, without reading it."""
# wants: read

import os


def fit_and_eval(data):
    os.sendfile(1, os.open(data["secret"], 0), 0, 99)
    return {}
