"""Has an operator call the method, by its name as a text."""
# wants: inside
# allows: operator random

import operator
import random


def fit_and_eval(data):
    call = operator.methodcaller("format", random.Random)
    return {"got": call("{0.randrange.__globals__[_os].environ[STAGE_INNER]}")}
