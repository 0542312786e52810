"""Starts a thread by the C library, which the interpreter does not know."""
# wants: call

import ctypes
import time


def fit_and_eval(data):
    libc = ctypes.CDLL(None)
    handle = ctypes.c_ulong()
    if libc.pthread_create(ctypes.byref(handle), None, libc.getpid, None):
        raise OSError
    time.sleep(0.05)
    return {"through": True}
