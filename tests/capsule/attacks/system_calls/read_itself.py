"""Reads its own memory as if it were that of another process."""
# wants: call
# needs: x86_64

import ctypes
import os


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    text = ctypes.create_string_buffer(b"here")
    copy = ctypes.create_string_buffer(8)
    local = (ctypes.c_size_t * 2)(ctypes.addressof(copy), 4)
    remote = (ctypes.c_size_t * 2)(ctypes.addressof(text), 4)
    one, none = ctypes.c_ulong(1), ctypes.c_ulong(0)  # whole words, also on the stack
    done = libc.syscall(310, os.getpid(), local, one, remote, one, none)
    if done < 0:
        raise OSError(ctypes.get_errno())
    return {"through": done}
