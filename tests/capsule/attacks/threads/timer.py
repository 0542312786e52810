"""Has something happen later, when the entrypoint may have returned."""
# wants: write

import os
import threading


def fit_and_eval(data):
    later = threading.Timer(0.01, os.mkdir, (data["place"] + "/new",))
    later.start()
    later.join(20)
    return {}
