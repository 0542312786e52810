"""Watches a directory for what others do in it."""
# wants: call

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(0)
    if libc.inotify_add_watch(fd, data["place"].encode(), 0xFFF) < 0:
        raise OSError(ctypes.get_errno())
    return {"through": True}
