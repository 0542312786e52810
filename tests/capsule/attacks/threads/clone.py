"""Starts a thread by the system call itself."""
# wants: call
# needs: x86_64

import ctypes

stack = ctypes.create_string_buffer(1 << 16)


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    top = ctypes.addressof(stack) + (1 << 16)
    body = ctypes.cast(libc.getppid, ctypes.c_void_p)
    tid = libc.clone(body, ctypes.c_void_p(top & ~15), 0x50F00, None)
    if tid < 0:
        raise OSError(ctypes.get_errno())
    return {"through": tid}
