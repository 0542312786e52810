"""Asks by the newest call for it, through the C library."""
# wants: metadata

import ctypes


def fit_and_eval(data):
    held = ctypes.create_string_buffer(256)
    ctypes.CDLL(None).statx(-100, data["sized"].encode(), 0, 0x7FF, held)
    return {"got": int.from_bytes(held.raw[40:48], "little")}
