"""Has a transform share its work among threads."""
# wants: call
# allows: numpy scipy
# takes: 3

import numpy as np
import scipy.fft


def fit_and_eval(data):
    import os
    import time

    os.environ["DUCC0_NUM_THREADS"] = "4"  # newer ones take no more than this says
    waves = np.ones((512, 4096))
    own, all_of_us = time.thread_time(), time.process_time()
    scipy.fft.fft(waves, workers=4)
    elsewhere = (time.process_time() - all_of_us) - (time.thread_time() - own)
    if elsewhere < 0.001:
        raise OSError
    return {"through": elsewhere}
