"""Binds another process to one processor."""
# wants: signal

import os


def fit_and_eval(data):
    os.sched_setaffinity(data["pid"], {0})
    return {}
