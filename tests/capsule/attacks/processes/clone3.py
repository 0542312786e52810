"""Makes a process by the newest call for it."""
# wants: call

import ctypes
import os


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    args = (ctypes.c_uint64 * 8)(0, 0, 0, 0, 17, 0, 0, 0)
    pid = libc.syscall(435, args, 64)
    if pid == 0:
        os._exit(0)
    if pid < 0:
        raise OSError(ctypes.get_errno())
    return {"through": pid}
