"""Keeps the text with the field in a variable, where no call shows it."""
# wants: inside
# allows: random

import random

text = "{0.randrange.__globals__[_os].environ[STAGE_INNER]}"


def fit_and_eval(data):
    return {"got": text.format(random.Random)}
