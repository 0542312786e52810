"""Matches a text by an expression that tries every way."""
# wants: time
# allows: re

import re


def fit_and_eval(data):
    return {"m": bool(re.match(r"(a|a|aa)+$", "a" * 60 + "b"))}
