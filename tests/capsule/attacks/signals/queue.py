"""Ends a process by a signal that carries a value."""
# wants: signal
# needs: x86_64
# waits: 0.05

import ctypes


def fit_and_eval(data):
    info = (ctypes.c_int * 32)(9, 0, -1)
    ctypes.CDLL(None).syscall(129, data["pid"], 9, info)
    return {}
