"""Keeps words in memory that outlives the process."""
# wants: leak

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None)
    if libc.shmget(0x4711, 4096, 0o1600) < 0:
        raise OSError
    return {}


def check(data):
    libc = ctypes.CDLL(None)
    found = libc.shmget(0x4711, 0, 0)
    if found >= 0:
        libc.shmctl(found, 0, None)
        return {"left": True}
    return {}
