"""Takes os by the private name that a module gave it."""
# wants: read
# allows: random

import random


def fit_and_eval(data):
    return {"got": random._os.read(random._os.open(data["secret"], 0), 99).decode()}
