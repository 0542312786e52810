"""Changes the class of a module to one whose attributes answer otherwise."""
# wants: inside
# allows: time

import time


class Open(type(time)):
    pass


def fit_and_eval(data):
    time.__class__ = Open
    return {"got": time.__loader__.load_module("posix").environ[b"STAGE_INNER"].decode()}
