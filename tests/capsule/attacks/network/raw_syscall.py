"""Connects by system calls alone, through the C library."""
# wants: network

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None)
    fd = libc.socket(2, 1, 0)
    address = (2).to_bytes(2, "little") + data["port"].to_bytes(2, "big")
    libc.connect(fd, address + bytes([127, 0, 0, 1]) + bytes(8), 16)
    return {}
