"""Chooses another scheduler for itself."""
# wants: call
# needs: x86_64

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    param = (ctypes.c_int * 1)(0)
    done = libc.syscall(144, 0, 3, param)
    if done < 0:
        raise OSError(ctypes.get_errno())
    return {"through": done}
