"""Makes a file by the newest call for it."""
# wants: write

import ctypes


def fit_and_eval(data):
    how = (ctypes.c_uint64 * 3)(0o101, 0o600, 0)
    path = (data["place"] + "/new").encode()
    ctypes.CDLL(None).syscall(437, -100, path, how, 24)
    return {}
