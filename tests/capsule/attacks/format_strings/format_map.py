"""Uses the sister of format, which takes a mapping."""
# wants: inside
# allows: random

import random


def fit_and_eval(data):
    return {"got": "{r.randrange.__globals__[_os].environ[STAGE_INNER]}".format_map({"r": random.Random})}
