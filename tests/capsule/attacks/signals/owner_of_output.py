"""Names another process as the one that the signals of its output go to."""
# wants: call

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.fcntl(1, 8, data["pid"]) < 0:
        raise OSError(ctypes.get_errno())
    return {"through": True}
