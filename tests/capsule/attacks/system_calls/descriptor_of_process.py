"""Takes hold of a process by a descriptor."""
# wants: call
# needs: x86_64

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.syscall(434, data["pid"], 0)
    if done < 0:
        raise OSError(ctypes.get_errno())
    return {"through": done}
