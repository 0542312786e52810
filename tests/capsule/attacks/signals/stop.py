"""Stops another process, which then waits for ever."""
# wants: signal
# waits: 0.05

import os
import signal


def fit_and_eval(data):
    os.kill(data["pid"], signal.SIGSTOP)
    return {}
