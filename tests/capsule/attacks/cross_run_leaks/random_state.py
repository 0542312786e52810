"""Leaves the generator of random numbers where it wants it."""
# wants: leak
# allows: random

import random


def fit_and_eval(data):
    random.seed(12345)
    return {}


def check(data):
    return {"left": True} if random.random() == random.Random(12345).random() else {}
