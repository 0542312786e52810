"""Sends the signal that is none to its own thread."""
# wants: call
# needs: x86_64

import ctypes
import os


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.syscall(234, os.getpid(), os.getpid(), 0)
    if done < 0:
        raise OSError(ctypes.get_errno())
    return {"through": done}
