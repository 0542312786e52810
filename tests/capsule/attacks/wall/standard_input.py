"""Waits for a line from what the host may have left as its input."""
# wants: time

import os
import time


def fit_and_eval(data):
    os.read(0, 1)
    time.sleep(60)
