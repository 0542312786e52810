"""Has map call the unbound method."""
# wants: inside
# allows: random

import random


def fit_and_eval(data):
    text = ["{0.randrange.__globals__[_os].environ[STAGE_INNER]}"]
    return {"got": list(map(str.format, text, [random.Random]))}
