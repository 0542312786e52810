"""Ends a process by the call that names group and thread."""
# wants: signal
# needs: x86_64
# waits: 0.05

import ctypes


def fit_and_eval(data):
    ctypes.CDLL(None).syscall(234, data["pid"], data["pid"], 9)
    return {}
