"""Blocks every signal that can be blocked, and waits."""
# wants: time

import signal


def fit_and_eval(data):
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))
    while True:
        signal.sigtimedwait([], 1)
