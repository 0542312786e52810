"""Has the generator of random numbers hash a file, by the module that it kept."""
# wants: read
# allows: random

import random


def fit_and_eval(data):
    with random._os.fdopen(random._os.open(data["secret"], 0)) as f:
        return {"got": f.read()}
