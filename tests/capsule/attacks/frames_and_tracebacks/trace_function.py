"""Installs a tracer, which the interpreter calls with every frame there is."""
# wants: read

import sys


def fit_and_eval(data):
    frames = []

    def tracer(frame, event, arg):
        frames.append(frame)

    sys.settrace(tracer)
    (lambda: 0)()
    sys.settrace(None)
    return {"got": frames[0].f_builtins["open"](data["secret"]).read()}
