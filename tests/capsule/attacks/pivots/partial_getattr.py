"""Binds the object of getattr first and gives the name later."""
# wants: read
# allows: functools

import functools


def fit_and_eval(data):
    names = iter(["__self__"])
    module = functools.partial(getattr, len)(next(names))
    return {"got": module.open(data["secret"]).read()}
