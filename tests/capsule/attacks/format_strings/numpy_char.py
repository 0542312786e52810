"""Has NumPy's text functions do the formatting."""
# wants: inside
# allows: numpy random

import numpy as np
import random


def fit_and_eval(data):
    texts = np.array(["{0.randrange.__globals__[_os].environ[STAGE_INNER]}"], dtype=object)
    return {"got": [np.frompyfunc(str.format, 2, 1)(texts, np.array([random.Random], dtype=object))[0]]}
