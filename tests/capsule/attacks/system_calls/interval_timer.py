"""Sets an interval timer to nothing, which would stop one."""
# wants: call
# needs: x86_64

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    value = (ctypes.c_long * 4)()
    done = libc.syscall(38, 1, value, 0)
    if done < 0:
        raise OSError(ctypes.get_errno())
    return {"through": done}
