"""Opens a file to add to it."""
# wants: write

import os


def fit_and_eval(data):
    os.write(os.open(data["victim"], os.O_WRONLY | os.O_APPEND), b"more")
    return {}
