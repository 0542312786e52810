"""Loads a program into the kernel."""
# wants: call
# needs: root

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    held = (ctypes.c_uint32 * 32)(2, 4, 4, 1)
    fd = libc.syscall(321, 0, held, 72)
    if fd < 0:
        raise OSError(ctypes.get_errno())
    return {"through": fd}
