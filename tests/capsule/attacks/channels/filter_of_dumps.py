"""Says what of it is kept when it crashes."""
# wants: call

import os


def fit_and_eval(data):
    return {"through": os.write(os.open("/proc/self/coredump_filter", os.O_WRONLY), b"0")}
