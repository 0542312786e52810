"""Takes back what it wrote, by the directory of its thread."""
# wants: call

import os


def fit_and_eval(data):
    again = os.open("/proc/thread-self/fd/1", os.O_RDONLY | os.O_NONBLOCK)
    for _ in range(9999):
        os.write(1, b"\n")
        try:
            return {"through": len(os.read(again, 1))}
        except BlockingIOError:
            continue
