"""Leaves what it shares with others, by the harmless flag."""
# wants: call
# needs: x86_64

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.syscall(272, 0x400)
    if done < 0:
        raise OSError(ctypes.get_errno())
    return {"through": done}
