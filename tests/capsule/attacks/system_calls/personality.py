"""Asks for the execution domain, which could switch off random addresses."""
# wants: call
# needs: x86_64

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.syscall(135, 0xFFFFFFFF)
    if done < 0:
        raise OSError(ctypes.get_errno())
    return {"through": done}
