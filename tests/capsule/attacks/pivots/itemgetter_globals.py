"""Picks from a table of globals what has a forbidden name."""
# wants: inside
# allows: operator random

import operator
import random


def fit_and_eval(data):
    table = getattr(random.Random.seed, "__globals__")
    return {"got": operator.itemgetter("_os")(table).environ["STAGE_INNER"]}
