"""Leaves a thread that goes on when the entrypoint has returned."""
# wants: write
# waits: 0.4

import os
import threading
import time


def late(path):
    for _ in range(40):
        os.makedirs(path, exist_ok=True)
        time.sleep(0.005)


def fit_and_eval(data):
    threading.Thread(target=late, args=(data["place"] + "/new",), daemon=True).start()
    return {}
