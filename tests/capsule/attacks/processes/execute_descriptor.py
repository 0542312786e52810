"""Becomes a program that it has open, by the call that takes a descriptor."""
# wants: write

import os


def fit_and_eval(data):
    os.execve(os.open("/bin/mkdir", os.O_RDONLY), ["mkdir", data["place"] + "/new"], {})
