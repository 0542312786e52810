"""Walks from an object to a module's globals inside a replacement field."""
# wants: inside
# allows: random

import random


def fit_and_eval(data):
    return {"got": "{0.randrange.__globals__[_os].environ[STAGE_INNER]}".format(random.Random)}
