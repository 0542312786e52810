"""Changes the mask of modes for whoever comes next."""
# wants: leak

import os


def fit_and_eval(data):
    os.umask(0o123)
    return {}


def check(data):
    return {"left": True} if os.umask(0o22) == 0o123 else {}
