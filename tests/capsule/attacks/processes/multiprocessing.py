"""Has a process of its own family do the work."""
# wants: write

import multiprocessing
import os


def fit_and_eval(data):
    context = multiprocessing.get_context("fork")
    p = context.Process(target=os.mkdir, args=(data["place"] + "/new",))
    p.start()
    p.join()
    return {}
