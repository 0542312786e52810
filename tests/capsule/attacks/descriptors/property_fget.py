"""Takes the getter out of a property of a library class, and its globals from there."""
# wants: inside
# allows: statistics

import statistics


def fit_and_eval(data):
    getter = statistics.NormalDist.mean.fget
    return {"got": getter.__globals__["sys"].modules["os"].environ["STAGE_INNER"]}
