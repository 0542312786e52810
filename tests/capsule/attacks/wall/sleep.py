"""Sleeps, which takes no time of the processor."""
# wants: time
# allows: time

import time


def fit_and_eval(data):
    time.sleep(60)
    return {}
