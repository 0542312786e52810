"""Has two small arrays become a large one."""
# wants: memory
# allows: numpy

import numpy as np


def fit_and_eval(data):
    a = np.arange(5700.0)
    return {"n": int((a[:, None] + a[None, :]).size)}
