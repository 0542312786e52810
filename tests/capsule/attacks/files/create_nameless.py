"""Makes a file without a name, and gives it one."""
# wants: write

import ctypes
import os


def fit_and_eval(data):
    fd = os.open(data["place"], os.O_TMPFILE | os.O_WRONLY, 0o600)
    new = (data["place"] + "/new").encode()
    ctypes.CDLL(None).linkat(-100, f"/proc/self/fd/{fd}".encode(), -100, new, 0x400)
    return {}
