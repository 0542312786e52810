"""Reads a private attribute by a pattern whose class takes everything in."""
# wants: inside
# allows: abc warnings

import warnings
from abc import ABC


class Own(ABC):
    _module = None


def fit_and_eval(data):
    held = warnings.catch_warnings()
    Own.register(type(held))
    match held:
        case Own(_module=module):
            return {"got": module.sys.modules["os"].environ["STAGE_INNER"]}
