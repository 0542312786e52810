"""Fills the cache of expressions, and puts a wrong answer into it."""
# wants: leak
# allows: re

import re


def fit_and_eval(data):
    cache = getattr(re, "_cache")
    cache[str, "x", 0] = re.compile("y")
    return {}


def check(data):
    return {"left": True} if re.compile("x").pattern == "y" else {}
