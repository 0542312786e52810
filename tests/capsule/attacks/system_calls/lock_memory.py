"""Keeps a page from being moved out of memory."""
# wants: call
# needs: x86_64

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    page = ctypes.create_string_buffer(8192)
    done = libc.syscall(149, page, 4096)
    if done < 0:
        raise OSError(ctypes.get_errno())
    return {"through": done}
