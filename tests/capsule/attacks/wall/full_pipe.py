"""Writes into a pipe that nobody empties, until it blocks."""
# wants: time

import os


def fit_and_eval(data):
    reader, writer = os.pipe()
    while True:
        os.write(writer, bytes(65536))
