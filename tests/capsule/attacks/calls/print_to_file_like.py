"""Prints into a file of a library's."""
# wants: write
# allows: random

import random


def fit_and_eval(data):
    with random._os.fdopen(random._os.open(data["place"] + "/new", 65), "w") as file:
        print("x", file=file)
    return {}
