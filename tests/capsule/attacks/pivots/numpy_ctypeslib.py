"""Loads the C library through the module that NumPy has for that, and makes a directory."""
# wants: write
# allows: numpy.ctypeslib

import numpy.ctypeslib as c


def fit_and_eval(data):
    lib = c.load_library("libc.so.6", "/lib/x86_64-linux-gnu")
    lib.mkdir((data["place"] + "/new").encode(), 0o700)
    return {}
