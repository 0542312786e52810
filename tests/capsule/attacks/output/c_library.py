"""Writes by the C library, which has a buffer of its own."""
# wants: output

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None)
    for _ in range(600):
        libc.puts(b"y" * 99)
    libc.fflush(None)
    return {}
