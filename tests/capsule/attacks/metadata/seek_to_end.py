"""Opens a file and seeks to its end, which is its size."""
# wants: metadata

import os


def fit_and_eval(data):
    return {"got": os.lseek(os.open(data["sized"], 0), 0, os.SEEK_END)}
