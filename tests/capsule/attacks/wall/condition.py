"""Waits for an event that nobody sets."""
# wants: time

import threading


def fit_and_eval(data):
    threading.Event().wait()
