"""Has a pandas column call a method of its texts by name."""
# wants: inside
# allows: pandas random

import pandas as pd
import random


def fit_and_eval(data):
    s = pd.Series(["{0.randrange.__globals__[_os].environ[STAGE_INNER]}"], dtype=object)
    return {"got": list(s.map(lambda t: t.format(random.Random)))}
