"""Reads a file by descriptors, without any buffer between."""
# wants: read

import os


def fit_and_eval(data):
    return {"got": os.read(os.open(data["secret"], os.O_RDONLY), 99).decode()}
