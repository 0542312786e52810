"""Starts a thread, which makes a directory."""
# wants: write

import _thread
import os


def fit_and_eval(data):
    running = _thread.allocate_lock()

    def act():
        try:
            os.mkdir(data["place"] + "/new")
        finally:
            running.release()

    running.acquire()
    _thread.start_new_thread(act, ())
    running.acquire(timeout=20)
    return {}
