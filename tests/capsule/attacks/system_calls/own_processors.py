"""Chooses its processors."""
# wants: call
# needs: x86_64

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    mask = ctypes.create_string_buffer(b"\xff" * 8, 8)
    done = libc.syscall(203, 0, 8, mask)
    if done < 0:
        raise OSError(ctypes.get_errno())
    return {"through": done}
