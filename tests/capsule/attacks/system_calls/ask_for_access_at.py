"""Asks whether a file may be read, by the newer call."""
# wants: call
# needs: x86_64

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.syscall(439, -100, data["secret"].encode(), 4, 0)
    if done < 0:
        raise OSError(ctypes.get_errno())
    return {"through": done}
