"""Has the garbage collector work all the time."""
# wants: leak

import gc


def fit_and_eval(data):
    gc.set_threshold(7, 7, 7)
    return {}


def check(data):
    return {"left": True} if gc.get_threshold()[0] == 7 else {}
