"""Abstract classes, heaps, bisection and copies."""
import heapq, bisect, copy, string, textwrap
from abc import ABC, abstractmethod

class Model(ABC):
    @abstractmethod
    def predict(self, x): ...
    def __call__(self, x): return self.predict(x)

class Double(Model):
    def predict(self, x): return 2 * x

class Box:
    def __init__(self): self.items = {}
    def __getitem__(self, k): return self.items[k]
    def __setitem__(self, k, v): self.items[k] = v
    def __contains__(self, k): return k in self.items
    def __iter__(self): return iter(self.items)

def fit_and_eval(data):
    h = list(data); heapq.heapify(h)
    box = Box(); box["a"] = 1
    twin = copy.deepcopy(box); twin["a"] = 2
    return {"call": Double()(4), "h": heapq.heappop(h), "b": bisect.bisect(data, 3),
            "box": [box["a"], twin["a"], "a" in box, list(box)], "s": string.digits,
            "t": textwrap.shorten("hello world", 8, placeholder="…")}


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'call': 8,
 'h': 1,
 'b': 3,
 'box': [1, 2, True, ['a']],
 's': '0123456789',
 't': 'hello…'}
