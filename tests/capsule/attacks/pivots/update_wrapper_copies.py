"""Copies the private attributes of a library's object into one of its own."""
# wants: inside
# allows: functools warnings

import functools
import warnings


class Own:
    _module = None


def fit_and_eval(data):
    mine = Own()
    functools.update_wrapper(mine, warnings.catch_warnings())
    return {"got": mine._module.sys.modules["os"].environ["STAGE_INNER"]}
