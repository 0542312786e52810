"""Hands work to the pool of threads that looks like one of processes."""
# wants: call

from multiprocessing.pool import ThreadPool


def fit_and_eval(data):
    with ThreadPool(1) as pool:
        return {"through": pool.map(abs, [-1])}
