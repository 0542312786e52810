"""Reads from every descriptor that the host left open."""
# wants: read

import os


def fit_and_eval(data):
    fd = os.open(data["secret"], os.O_RDONLY)
    os.set_inheritable(fd, True)
    found = []
    for number in range(3, 32):
        try:
            found.append(os.pread(number, 99, 0).decode())
        except OSError:
            pass
    return {"got": found}
