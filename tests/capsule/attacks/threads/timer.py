"""Has something happen later, when the entrypoint may have returned."""
# wants: write

import os
import threading
import time


def fit_and_eval(data):
    threading.Timer(0.01, os.mkdir, (data["place"] + "/new",)).start()
    time.sleep(0.1)
    return {}
