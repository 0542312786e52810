"""Sorting, built-in functions, decorators and caches."""
import operator
import functools

class P:
    def __init__(self, a): self.a = a

@functools.lru_cache(maxsize=None)
def slow(x): return x + 1

def deco(f):
    @functools.wraps(f)
    def inner(*args, **kwargs): return f(*args, **kwargs) * 2
    return inner

@deco
def add(a, b=1): return a + b

def fit_and_eval(data):
    ps = sorted([P(3), P(1)], key=operator.attrgetter("a"))
    return {"s": sorted(data, key=lambda x: -x), "ps": [p.a for p in ps],
            "zip": list(zip(data, map(str, data), strict=True))[0], "any": any(data),
            "round": round(2.675, 2), "div": divmod(7, 2), "get": getattr(ps[0], "b", 9),
            "has": hasattr(ps[0], "a"), "red": functools.reduce(operator.mul, data),
            "cache": slow(1) + slow(1), "deco": add(2), "name": add.__name__,
            "part": functools.partial(add, 3)(), "min": min(data), "bytes": bytes([65]).decode()}


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'s': [5, 4, 3, 2, 1],
 'ps': [1, 3],
 'zip': [1, '1'],
 'any': True,
 'round': 2.67,
 'div': [3, 1],
 'get': 9,
 'has': True,
 'red': 120,
 'cache': 4,
 'deco': 6,
 'name': 'add',
 'part': 8,
 'min': 1,
 'bytes': 'A'}
