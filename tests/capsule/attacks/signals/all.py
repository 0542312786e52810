"""Sends a signal to every process that it may reach, from the host down."""
# wants: signal
# waits: 0.05

import os
import signal


def fit_and_eval(data):
    for pid in (data["pid"], data["host"]):
        os.kill(pid, signal.SIGUSR2)
    return {}
