"""Makes a file by the oldest call for it."""
# wants: write
# needs: x86_64

import ctypes


def fit_and_eval(data):
    ctypes.CDLL(None).syscall(85, (data["place"] + "/new").encode(), 0o600)
    return {}
