"""Mounts a file system over the place."""
# wants: call
# needs: root

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    place = data["place"].encode()
    if libc.unshare(0x00020000) < 0:
        raise OSError(ctypes.get_errno())
    libc.mount(b"none", b"/", None, 0x44000, None)
    if libc.mount(b"x", place, b"tmpfs", 0, None) < 0:
        raise OSError(ctypes.get_errno())
    return {"through": True}
