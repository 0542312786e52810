"""Puts a key into a ring."""
# wants: call
# needs: x86_64

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.syscall(248, b"user", b"muniment", b"x", 1, -2)
    if done < 0:
        raise OSError(ctypes.get_errno())
    return {"through": done}
