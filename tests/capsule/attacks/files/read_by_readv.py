"""Reads a file into buffers, by the call that fills several."""
# wants: read

import os


def fit_and_eval(data):
    held = bytearray(64)
    os.readv(os.open(data["secret"], 0), [held])
    return {"got": held.decode()}
