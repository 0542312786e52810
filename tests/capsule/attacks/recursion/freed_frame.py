"""Has a library hold an object that is no object."""
# wants: crash

import ctypes


def fit_and_eval(data):
    return {"n": str(ctypes.cast(8, ctypes.py_object).value)}
