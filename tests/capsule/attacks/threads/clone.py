"""Starts a thread by the system call itself."""
# wants: call
# needs: x86_64

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    stack = ctypes.create_string_buffer(1 << 16)
    top = ctypes.addressof(stack) + (1 << 16)
    end = ctypes.cast(libc._exit, ctypes.c_void_p)
    tid = libc.clone(end, ctypes.c_void_p(top & ~15), 0x50F00, None)
    if tid < 0:
        raise OSError(ctypes.get_errno())
    return {"through": tid}
