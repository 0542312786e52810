"""Writes machine code that makes a directory, into memory that may run, and calls it."""
# wants: write
# needs: x86_64

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    at = libc.mmap(None, 4096, 7, 0x22, -1, 0)
    # mov eax, 83 (mkdir); syscall; ret -- path and mode come as arguments
    ctypes.memmove(at, b"\xb8\x53\0\0\0\x0f\x05\xc3", 8)
    call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_int)(at)
    call((data["place"] + "/new").encode(), 0o700)
    return {}
