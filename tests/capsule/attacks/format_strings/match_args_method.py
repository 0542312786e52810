"""Lists the method among what patterns without names read."""
# wants: inside
# allows: random

import random


class Text(str):
    __match_args__ = ("format",)


def fit_and_eval(data):
    match Text("{0.randrange.__globals__[_os].environ[STAGE_INNER]}"):
        case Text(f):
            return {"got": f(random.Random)}
