"""Sets its users to what they are."""
# wants: call
# needs: x86_64

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.syscall(117, -1, -1, -1)
    if done < 0:
        raise OSError(ctypes.get_errno())
    return {"through": done}
