"""Makes a pipe by the newer call."""
# wants: call
# needs: x86_64

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    pair = (ctypes.c_int * 2)()
    done = libc.syscall(293, pair, 0)
    if done < 0:
        raise OSError(ctypes.get_errno())
    return {"through": done}
