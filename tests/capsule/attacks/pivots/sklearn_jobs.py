"""Has a learner start processes of its own, one of which writes."""
# wants: write
# allows: sklearn.utils.parallel

import os

from sklearn.utils.parallel import Parallel, delayed


def fit_and_eval(data):
    jobs = [delayed(os.mkdir)(data["place"] + "/new"), delayed(len)("x")]
    Parallel(n_jobs=2, backend="multiprocessing")(jobs)
    return {}
