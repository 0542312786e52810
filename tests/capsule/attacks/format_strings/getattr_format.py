"""Takes the method of a text by getattr, with a name put together."""
# wants: inside
# allows: random

import random


def fit_and_eval(data):
    f = getattr("{0.randrange.__globals__[_os].environ[STAGE_INNER]}", "for" + "mat")
    return {"got": f(random.Random)}
