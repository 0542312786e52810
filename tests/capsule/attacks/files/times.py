"""Changes when a file was last written."""
# wants: write

import os


def fit_and_eval(data):
    os.utime(data["victim"], (1, 1))
    return {}
