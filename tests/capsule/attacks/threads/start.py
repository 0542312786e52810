"""Starts a thread, which makes a directory."""
# wants: write
# waits: 0.2

import _thread
import os
import time


def fit_and_eval(data):
    _thread.start_new_thread(os.mkdir, (data["place"] + "/new",))
    time.sleep(0.05)
    return {}
