"""Sets a variable that the next program reads."""
# wants: leak

import os


def fit_and_eval(data):
    os.environ["LEFT_BEHIND"] = "1"
    return {}


def check(data):
    return {"left": True} if "LEFT_BEHIND" in os.environ else {}
