"""Forks with a terminal of its own."""
# wants: call

import os


def fit_and_eval(data):
    pid, _ = os.forkpty()
    if pid == 0:
        os._exit(0)
    return {"through": pid}
