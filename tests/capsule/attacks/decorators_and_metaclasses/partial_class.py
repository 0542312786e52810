"""Subclasses partial, whose call is written in C, around a forbidden function."""
# wants: read
# allows: functools

import functools


class Reader(functools.partial):
    pass


def fit_and_eval(data):
    return {"got": Reader(open)(data["secret"]).read()}
