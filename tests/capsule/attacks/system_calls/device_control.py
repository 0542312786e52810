"""Has its output not wait, by a call for devices."""
# wants: call
# needs: x86_64

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    value = (ctypes.c_int * 1)(0)
    done = libc.syscall(16, 1, 0x5421, value)
    if done < 0:
        raise OSError(ctypes.get_errno())
    return {"through": done}
