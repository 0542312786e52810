"""Makes semaphores of the old kind."""
# wants: call
# needs: x86_64

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.syscall(64, 0, 1, 0o1600)
    if done < 0:
        raise OSError(ctypes.get_errno())
    libc.syscall(66, done, 0, 0, None)
    return {"through": done}
