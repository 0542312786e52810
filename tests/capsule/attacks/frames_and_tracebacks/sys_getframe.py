"""Asks the interpreter for the frame of the caller."""
# wants: read

import sys


def fit_and_eval(data):
    frame = sys._getframe(1)
    return {"got": frame.f_builtins["open"](data["secret"]).read()}
