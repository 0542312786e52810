"""Waits for a signal."""
# wants: time

import signal


def fit_and_eval(data):
    while True:
        signal.pause()
