"""Joins the namespaces of another process."""
# wants: call
# needs: root

import ctypes
import os


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    fd = os.open(f"/proc/{data['pid']}/ns/net", os.O_RDONLY)
    if libc.setns(fd, 0) < 0:
        raise OSError(ctypes.get_errno())
    return {"through": True}
