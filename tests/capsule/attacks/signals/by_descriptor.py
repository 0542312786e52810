"""Opens a process and ends it by what it holds."""
# wants: signal
# waits: 0.05

import os
import signal


def fit_and_eval(data):
    signal.pidfd_send_signal(os.pidfd_open(data["pid"]), signal.SIGKILL)
    return {}
