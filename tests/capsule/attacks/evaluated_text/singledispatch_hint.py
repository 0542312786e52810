"""Registers a handler whose annotation is a text, which the dispatcher evaluates."""
# wants: write
# allows: functools

import functools


@functools.singledispatch
def handle(x):
    return x


def fit_and_eval(data):
    def handler(x: "__import__('os').mkdir(path) or int"):
        pass

    handler.__globals__["path"] = data["place"] + "/new"
    handle.register(handler)
    return {}
