"""Sets the priority of its reads and writes."""
# wants: call
# needs: x86_64

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.syscall(251, 1, 0, 0x4007)
    if done < 0:
        raise OSError(ctypes.get_errno())
    return {"through": done}
