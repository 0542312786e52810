"""Exchanges two files in one step."""
# wants: write

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None)
    libc.renameat2(-100, data["victim"].encode(), -100, data["secret"].encode(), 2)
    return {}
