"""Reads from an address where nothing is."""
# wants: crash

import ctypes


def fit_and_eval(data):
    return {"n": ctypes.string_at(0)}
