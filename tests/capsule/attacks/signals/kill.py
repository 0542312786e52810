"""Ends another process."""
# wants: signal

import os


def fit_and_eval(data):
    os.kill(data["pid"], 9)
    return {}
