"""Asks where its thread keeps its own data."""
# wants: call
# needs: x86_64

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    held = (ctypes.c_long * 1)()
    done = libc.syscall(158, 0x1003, held)
    if done < 0:
        raise OSError(ctypes.get_errno())
    return {"through": done}
