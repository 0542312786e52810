"""Hides the walk in the field of a format's own specification."""
# wants: inside
# allows: random

import random


def fit_and_eval(data):
    walk = "0.randrange.__globals__[_os].environ[STAGE_INNER]"
    return {"got": "{1:{2}}".format(random.Random, 1, 3) + ("{" + walk + "}").format(random.Random)}
