"""Waits for a lock that it holds itself."""
# wants: time

import _thread


def fit_and_eval(data):
    lock = _thread.allocate_lock()
    lock.acquire()
    lock.acquire()
