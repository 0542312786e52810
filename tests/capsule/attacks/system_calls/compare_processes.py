"""Asks whether two processes share their files."""
# wants: call
# needs: x86_64 root

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.syscall(312, data["host"], data["pid"], 2, 0, 0)
    if done < 0:
        raise OSError(ctypes.get_errno())
    return {"through": done}
