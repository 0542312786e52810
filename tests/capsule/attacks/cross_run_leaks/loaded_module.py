"""Loads a module of its own under the name of another."""
# wants: leak

import sys


def fit_and_eval(data):
    sys.modules["left_behind"] = sys
    return {}


def check(data):
    return {"left": True} if "left_behind" in sys.modules else {}
