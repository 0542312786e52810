"""Hides the walk in the specification of a field; the error tells where it led."""
# wants: inside
# allows: random

import random


def fit_and_eval(data):
    walk = "1.randrange.__globals__[_os].environ[STAGE_INNER]"
    return {"got": ("{0:x{" + walk + "}}").format("", random.Random)}
