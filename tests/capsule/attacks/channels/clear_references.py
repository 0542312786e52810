"""Resets what the kernel counts of its memory."""
# wants: call

import os


def fit_and_eval(data):
    return {"through": os.write(os.open("/proc/self/clear_refs", os.O_WRONLY), b"1")}
