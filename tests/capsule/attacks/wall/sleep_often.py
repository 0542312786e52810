"""Sleeps many times, so that no single call is long."""
# wants: time
# allows: time

import time


def fit_and_eval(data):
    while True:
        time.sleep(0.01)
