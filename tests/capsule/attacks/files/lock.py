"""Locks a file, so that others wait for it."""
# wants: call

import fcntl
import os


def fit_and_eval(data):
    fcntl.flock(os.open(data["victim"], 0), fcntl.LOCK_EX)
    return {"through": True}
