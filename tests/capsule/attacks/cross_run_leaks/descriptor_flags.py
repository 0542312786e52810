"""Changes the flags of a pipe that the next program may have as well."""
# wants: call

import fcntl
import os


def fit_and_eval(data):
    fcntl.fcntl(1, fcntl.F_SETFL, os.O_NONBLOCK)
    return {"through": True}
