"""Makes a descriptor that signals are read from."""
# wants: call
# needs: x86_64

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    mask = ctypes.create_string_buffer(8)
    done = libc.syscall(289, -1, mask, 8, 0)
    if done < 0:
        raise OSError(ctypes.get_errno())
    return {"through": done}
