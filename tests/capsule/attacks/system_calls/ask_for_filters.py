"""Asks which actions a filter may have."""
# wants: call
# needs: x86_64

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    action = (ctypes.c_uint32 * 1)(0x7FFF0000)
    done = libc.syscall(317, 2, 0, action)
    if done < 0:
        raise OSError(ctypes.get_errno())
    return {"through": done}
