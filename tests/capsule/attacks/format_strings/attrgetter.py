"""Has an operator read the method from a text, by its name."""
# wants: inside
# allows: operator random

import operator
import random


def fit_and_eval(data):
    f = operator.attrgetter("format")("{0.randrange.__globals__[_os].environ[STAGE_INNER]}")
    return {"got": f(random.Random)}
