"""Hands work to a pool of threads."""
# wants: call

from concurrent.futures import ThreadPoolExecutor


def fit_and_eval(data):
    with ThreadPoolExecutor(1) as pool:
        return {"through": pool.submit(sum, [1, 2]).result()}
