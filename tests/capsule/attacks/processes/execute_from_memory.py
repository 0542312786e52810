"""Writes a program into memory and becomes it."""
# wants: write

import os


def fit_and_eval(data):
    fd = os.memfd_create("x", 0)
    os.write(fd, open("/bin/mkdir", "rb").read())
    os.execve(fd, ["mkdir", data["place"] + "/new"], {})
