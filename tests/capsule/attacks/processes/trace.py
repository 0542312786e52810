"""Attaches to another process as a debugger."""
# wants: call
# needs: root

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(16, data["pid"], 0, 0) < 0:
        raise OSError(ctypes.get_errno())
    return {"through": True}
