"""Inherits format in a class of its own, and calls it through super."""
# wants: inside
# allows: random

import random


class Text(str):
    def shown(self, *args):
        return super().format(*args)


def fit_and_eval(data):
    return {"got": Text("{0.randrange.__globals__[_os].environ[STAGE_INNER]}").shown(random.Random)}
