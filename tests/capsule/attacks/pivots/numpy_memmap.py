"""Maps a file into memory as an array."""
# wants: read
# allows: numpy

import numpy as np


def fit_and_eval(data):
    return {"got": bytes(np.memmap(data["secret"], mode="r")).decode()}
