"""Changes a function of a module by a call, where no assignment is seen."""
# wants: leak
# allows: statistics

import statistics


def fit_and_eval(data):
    setattr(statistics, "mean", lambda values: 1.0)
    return {}


def check(data):
    return {"left": True} if statistics.mean([0.0]) == 1.0 else {}
