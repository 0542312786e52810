"""Makes a socket by the number of the call."""
# wants: call
# needs: x86_64

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.syscall(41, 1, 1, 0)
    if done < 0:
        raise OSError(ctypes.get_errno())
    return {"through": done}
