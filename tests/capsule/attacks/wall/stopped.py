"""Stops itself, so that it neither runs nor ends."""
# wants: time

import os
import signal


def fit_and_eval(data):
    os.kill(os.getpid(), signal.SIGSTOP)
