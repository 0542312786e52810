"""Changes the flags of an open file that it shares."""
# wants: call
# needs: x86_64

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.syscall(72, 1, 4, 0o4001)
    if done < 0:
        raise OSError(ctypes.get_errno())
    libc.syscall(72, 1, 4, 1)
    return {"through": done}
