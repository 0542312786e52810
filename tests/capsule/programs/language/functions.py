"""Arguments of every kind, annotations, defaults, lambdas and unpacking."""
from typing import Callable


def everything(a, b=2, /, c=3, *args, d, e=5, **kwargs):
    return [a, b, c, list(args), d, e, kwargs]


def apply(function: Callable[[int], int], values: list[int]) -> list[int]:
    return [function(value) for value in values]


def pipeline(*steps):
    return lambda x: [x := step(x) for step in steps][-1]


def stats(*values: float, **options: bool) -> dict[str, float]:
    result = {"n": len(values)}
    if options.get("mean", True):
        result["mean"] = sum(values) / len(values)
    return result


def fit_and_eval(data):
    first, *middle, last = data
    merged = {**{"a": 1}, **{"b": 2}, "a": 3}
    (x, (y, z)), w = (1, (2, 3)), 4
    return {
        "everything": everything(1, 7, 8, 9, 10, d=11, f=12),
        "defaults": everything(1, d=0),
        "applied": apply(lambda v: v**2, data),
        "pipeline": pipeline(lambda v: v + 1, lambda v: v * 10)(4),
        "stats": stats(*data, mean=True),
        "unpacked": [first, middle, last],
        "merged": merged,
        "nested": x + y + z + w,
        "union": {"a": 1} | {"b": 2},
        "chained": 1 < first + 1 <= 2 < 5,
        "doc": (lambda: 0).__name__,
        "ternary": "big" if last > 3 else "small",
        "callable": [callable(apply), callable(3)],
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'everything': [1, 7, 8, [9, 10], 11, 5, {'f': 12}],
 'defaults': [1, 2, 3, [], 0, 5, {}],
 'applied': [1, 4, 9, 16, 25],
 'pipeline': 50,
 'stats': {'n': 5, 'mean': 3.0},
 'unpacked': [1, [2, 3, 4], 5],
 'merged': {'a': 3, 'b': 2},
 'nested': 10,
 'union': {'a': 1, 'b': 2},
 'chained': True,
 'doc': '<lambda>',
 'ternary': 'big',
 'callable': [True, False]}
