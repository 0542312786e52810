"""Makes a segment of memory that other processes may attach."""
# wants: call
# needs: x86_64

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.syscall(29, 0, 4096, 0o1600)
    if done < 0:
        raise OSError(ctypes.get_errno())
    libc.syscall(31, done, 0, None)
    return {"through": done}
