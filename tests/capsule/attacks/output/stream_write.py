"""Writes to the stream behind print."""
# wants: output

import sys


def fit_and_eval(data):
    sys.stdout.write("y" * 60_000)
    sys.stdout.flush()
    return {}
