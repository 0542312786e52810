"""Leaves a process behind that has left its group, and acts when the run is over."""
# wants: write
# waits: 0.5
# needs: root

import os
import time


def fit_and_eval(data):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(0.1)
            os.mkdir(data["place"] + "/new")
        os._exit(0)
    return {}
