"""Has update_wrapper merge the globals of a library function into those of its own."""
# wants: inside
# allows: functools random

import functools
import random


def mine():
    return _os.environ["STAGE_INNER"]


def fit_and_eval(data):
    functools.update_wrapper(mine, random.Random.seed, assigned=(), updated=("__globals__",))
    return {"got": mine()}
