"""Takes back what it wrote, by the name of a device."""
# wants: call

import os


def fit_and_eval(data):
    again = os.open("/dev/stdout", os.O_RDONLY | os.O_NONBLOCK)
    for _ in range(9999):
        os.write(1, b"\n")
        try:
            return {"through": len(os.read(again, 1))}
        except BlockingIOError:
            continue
