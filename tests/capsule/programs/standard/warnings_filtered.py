"""Warnings that are given, and silenced."""
import warnings

warnings.filterwarnings("ignore", category=DeprecationWarning)


class Outdated(UserWarning):
    pass


def old(x):
    warnings.warn("use something else", DeprecationWarning, stacklevel=2)
    return x + 1


def fit_and_eval(data):
    warnings.simplefilter("ignore", Outdated)
    warnings.warn("too old", Outdated)
    return {"old": [old(x) for x in data], "kind": issubclass(Outdated, Warning)}


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'old': [2, 3, 4, 5, 6], 'kind': True}
