"""Spawns a shell by the call of the C library."""
# wants: write

import os


def fit_and_eval(data):
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", "mkdir " + data["place"] + "/new"], {})
    os.waitpid(pid, 0)
    return {}
