"""Opens its standard error once more, and takes back what it wrote."""
# wants: call

import os


def fit_and_eval(data):
    again = os.open("/proc/self/fd/2", os.O_RDONLY | os.O_NONBLOCK)
    for _ in range(9999):
        os.write(2, b"\n")
        try:
            return {"through": len(os.read(again, 1))}
        except BlockingIOError:
            continue
