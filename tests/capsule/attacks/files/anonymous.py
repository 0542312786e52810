"""Makes a file in memory, which it could run later."""
# wants: call

import os


def fit_and_eval(data):
    return {"through": os.memfd_create("x")}
