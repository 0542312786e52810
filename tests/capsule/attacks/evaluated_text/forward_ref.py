"""Evaluates a text by the class that stands for names that come later."""
# wants: read
# allows: typing

import typing


def fit_and_eval(data):
    ref = typing.ForwardRef("__import__('io').open(path).read()")
    try:
        return {"got": str(ref._evaluate({"path": data["secret"]}, {}, frozenset()))}
    except TypeError as error:
        return {"got": str(error)}
