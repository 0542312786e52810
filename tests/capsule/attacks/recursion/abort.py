"""Ends the interpreter from inside."""
# wants: crash

import os


def fit_and_eval(data):
    os.abort()
