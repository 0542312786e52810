"""Makes every division by zero an error for those who come later."""
# wants: leak
# allows: numpy

import numpy as np


def fit_and_eval(data):
    np.seterr(all="raise", under="raise")
    return {}


def check(data):
    return {"left": True} if np.geterr()["under"] == "raise" else {}
