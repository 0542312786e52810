"""Gets the bound method by a class pattern, where no attribute is written."""
# wants: inside
# allows: random

import random


def fit_and_eval(data):
    match "{0.randrange.__globals__[_os].environ[STAGE_INNER]}":
        case str(format=f):
            return {"got": f(random.Random)}
