"""Makes memory that others can attach to, and that stays."""
# wants: call

import ctypes


def fit_and_eval(data):
    libc = ctypes.CDLL(None, use_errno=True)
    found = libc.shmget(0, 4096, 0o600)
    if found < 0:
        raise OSError(ctypes.get_errno())
    libc.shmctl(found, 0, None)
    return {"through": True}
