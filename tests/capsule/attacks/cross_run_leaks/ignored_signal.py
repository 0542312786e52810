"""Has a signal ignored for whoever comes next."""
# wants: leak

import signal


def fit_and_eval(data):
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    return {}


def check(data):
    return {"left": True} if signal.getsignal(signal.SIGUSR1) == signal.SIG_IGN else {}
