"""Closes all that it could answer on, and waits."""
# wants: time

import os
import time


def fit_and_eval(data):
    os.closerange(0, 64)
    time.sleep(60)
