"""Waits for words from a pipe to which nobody writes."""
# wants: time

import os


def fit_and_eval(data):
    reader, writer = os.pipe()
    os.read(reader, 1)
