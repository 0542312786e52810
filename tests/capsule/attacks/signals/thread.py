"""Ends a process by the number of its thread."""
# wants: signal
# needs: x86_64
# waits: 0.05

import ctypes


def fit_and_eval(data):
    ctypes.CDLL(None).syscall(200, data["pid"], 9)
    return {}
