"""Adds a hook that hears everything that the interpreter does."""
# wants: inside

import sys


def fit_and_eval(data):
    heard = []
    sys.addaudithook(lambda name, args: heard.append(name))
    import os

    return {"got": os.environ["STAGE_INNER"], "n": len(heard)}
