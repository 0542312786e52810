"""Has the decorator wraps do the same, by its third argument."""
# wants: inside
# allows: functools statistics

import functools
import statistics


@functools.wraps(statistics.mean, ("__doc__",), ("__globals__",))
def mine():
    return sys.modules["os"].environ["STAGE_INNER"]


def fit_and_eval(data):
    return {"got": mine()}
