"""Reads a file with a plain import of os, which no spec lists."""
# wants: read

import os


def fit_and_eval(data):
    fd = os.open(data["secret"], os.O_RDONLY)
    return {"got": os.read(fd, 99).decode()}
