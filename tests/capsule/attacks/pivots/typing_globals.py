"""Follows the wrapped function of a library's own cache to its module."""
# wants: inside
# allows: typing

import typing


def fit_and_eval(data):
    f = typing.get_type_hints
    return {"got": f.__globals__["sys"].modules["os"].environ["STAGE_INNER"]}
