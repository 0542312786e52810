"""Has a transform share its work among threads."""
# wants: call
# allows: numpy scipy

import numpy as np
import scipy.fft


def fit_and_eval(data):
    import os

    scipy.fft.fft(np.ones((64, 4096)), workers=4)
    tasks = len(os.listdir("/proc/self/task"))
    if tasks < 2:
        raise OSError
    return {"through": tasks}
