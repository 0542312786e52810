"""Statistics, itertools and the containers of collections."""
import statistics, itertools, collections, math
from collections import Counter, defaultdict, deque, namedtuple, OrderedDict
from collections.abc import Iterable
Row = namedtuple("Row", "a b")

def fit_and_eval(data):
    d = defaultdict(list)
    for x in data: d[x % 2].append(x)
    return {"mean": statistics.mean(data), "sd": statistics.pstdev(data),
            "acc": list(itertools.accumulate(data)), "comb": len(list(itertools.combinations(data, 2))),
            "count": Counter("abca"), "deque": list(deque(data, 2)), "row": Row(1, 2)._asdict(),
            "d": {str(k): v for k, v in d.items()}, "it": isinstance(data, Iterable),
            "hyp": math.hypot(3, 4), "od": OrderedDict(a=1), "cm": collections.ChainMap({"a": 1})["a"]}


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'mean': 3,
 'sd': 1.4142135623730951,
 'acc': [1, 3, 6, 10, 15],
 'comb': 10,
 'count': {'a': 2, 'b': 1, 'c': 1},
 'deque': [4, 5],
 'row': {'a': 1, 'b': 2},
 'd': {'1': [1, 3, 5], '0': [2, 4]},
 'it': True,
 'hyp': 5.0,
 'od': {'a': 1},
 'cm': 1}
