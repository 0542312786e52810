"""Registers a codec for whoever comes next."""
# wants: leak

import codecs


def fit_and_eval(data):
    codecs.register(lambda name: codecs.lookup("utf_8") if name == "left" else None)
    return {}


def check(data):
    return {"left": True} if b"x".decode("left") == "x" else {}
