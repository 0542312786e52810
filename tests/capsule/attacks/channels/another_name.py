"""Renames itself by a file."""
# wants: call

import os


def fit_and_eval(data):
    return {"through": os.write(os.open("/proc/self/comm", os.O_WRONLY), b"other")}
