"""Has modules looked for in a place of its own."""
# wants: leak

import sys


def fit_and_eval(data):
    sys.path.insert(0, "/left")
    return {}


def check(data):
    return {"left": True} if "/left" in sys.path else {}
