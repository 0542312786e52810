"""Caches, partial functions, reductions, ordering and decorators that keep names."""
import functools
import operator
from functools import cache, cached_property, lru_cache, partial, reduce, total_ordering, wraps


@lru_cache(maxsize=None)
def stairs(n):
    return 1 if n <= 1 else stairs(n - 1) + stairs(n - 2)


@cache
def binomial(n, k):
    return 1 if k in (0, n) else binomial(n - 1, k - 1) + binomial(n - 1, k)


@lru_cache(maxsize=2)
def small(x):
    return x * 2


def logged(function):
    calls = []

    @wraps(function)
    def wrapper(*args, **kwargs):
        calls.append(args)
        return function(*args, **kwargs)

    wrapper.calls = calls
    return wrapper


@logged
def power(base, exponent=2):
    """Raise a base."""
    return base**exponent


@total_ordering
class Version:
    def __init__(self, text):
        self.parts = tuple(map(int, text.split(".")))

    def __eq__(self, other):
        return self.parts == other.parts

    def __lt__(self, other):
        return self.parts < other.parts


class Dataset:
    def __init__(self, values):
        self.values = values
        self.computed = 0

    @cached_property
    def mean(self):
        self.computed += 1
        return sum(self.values) / len(self.values)


def fit_and_eval(data):
    dataset = Dataset(data)
    means = [dataset.mean, dataset.mean]
    for i in (1, 2, 1, 3):
        small(i)
    info = small.cache_info()
    return {
        "stairs": stairs(40),
        "binomial": binomial(20, 10),
        "info": [info.hits, info.misses, info.currsize],
        "cube": partial(power, exponent=3)(2),
        "calls": power.calls,
        "name": power.__name__,
        "reduced": reduce(operator.add, data, 100),
        "versions": [Version("1.10") > Version("1.9"), Version("2.0") >= Version("2.0"), max("1.2.3", "1.12", key=Version)],
        "means": means,
        "computed": dataset.computed,
        "cleared": (stairs.cache_clear(), stairs.cache_info().currsize)[1],
        "partial": functools.partial(max, 3)(1, 2),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'stairs': 165580141,
 'binomial': 184756,
 'info': [1, 3, 2],
 'cube': 8,
 'calls': [[2]],
 'name': 'power',
 'reduced': 115,
 'versions': [True, True, '1.12'],
 'means': [3.0, 3.0],
 'computed': 1,
 'cleared': 0,
 'partial': 3}
