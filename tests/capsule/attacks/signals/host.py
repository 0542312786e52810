"""Sends a signal to the host."""
# wants: signal
# waits: 0.05

import os
import signal


def fit_and_eval(data):
    os.kill(data["host"], signal.SIGUSR2)
    return {}
