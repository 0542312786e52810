"""Makes a queue of messages of the old kind."""
# wants: call
# needs: x86_64

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.syscall(68, 0, 0o1600)
    if done < 0:
        raise OSError(ctypes.get_errno())
    libc.syscall(71, done, 0, None)
    return {"through": done}
