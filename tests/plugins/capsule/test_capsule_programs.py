"""Ordinary programs that must work, with their exact metrics for the data 1 to 5."""

from __future__ import annotations

import pytest

from muniment_plugins.capsule import Capsule

PROGRAMS: dict[str, tuple[str, dict[str, object]]] = {
    "guide": (
        """
import math

def fit_and_eval(data):
    total = sum(data)
    mean = total / len(data) if data else 0
    return {"total": total, "mean": mean}
""",
        {"total": 15, "mean": 3.0},
    ),
    "classes": (
        """
class Shape:
    sides = 0
    def __init__(self, name):
        self.name = name
        self._hits = 0
    @property
    def label(self):
        return f"{self.name}:{self.sides}"
    def __eq__(self, other):
        return isinstance(other, Shape) and self.name == other.name
    def __len__(self):
        return self.sides
    def __repr__(self):
        return f"{type(self).__name__}({self.name!r})"

class Square(Shape):
    sides = 4
    __slots__ = ("side",)
    def __init__(self, side):
        super().__init__("square")
        self.side = side
    @classmethod
    def unit(cls):
        return cls(1)
    @staticmethod
    def twice(x):
        return 2 * x
    def __repr__(self):
        return "<" + super().__repr__() + ">"

def fit_and_eval(data):
    s = Square.unit()
    return {"label": s.label, "len": len(s), "repr": repr(s),
            "eq": s == Square(9), "twice": Square.twice(s.side),
            "type": isinstance(Square, type) and type(s) == Square}
""",
        {
            "label": "square:4",
            "len": 4,
            "repr": "<Square('square')>",
            "eq": True,
            "twice": 2,
            "type": True,
        },
    ),
    "dataclasses": (
        """
from __future__ import annotations
from dataclasses import dataclass, field, asdict, replace

@dataclass(order=True)
class Point:
    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)
    def __post_init__(self):
        self.tags.append("made")

@dataclass(frozen=True, slots=True)
class Frozen:
    v: float

def fit_and_eval(data):
    p = Point(1, 2)
    return {"p": asdict(p), "r": replace(p, x=5).x, "lt": Point(0) < p,
            "f": repr(Frozen(1.5)), "h": hash(Frozen(1.5)) == hash(Frozen(1.5))}
""",
        {
            "p": {"x": 1, "y": 2, "tags": ["made"]},
            "r": 5,
            "lt": True,
            "f": "Frozen(v=1.5)",
            "h": True,
        },
    ),
    "closures and generators": (
        """
def counter():
    seen = []
    def add(x):
        seen.append(x)
        return len(seen)
    return add

def squares(xs):
    for x in xs:
        yield x * x

def chain(*parts):
    for part in parts:
        yield from part

def fit_and_eval(data):
    add = counter()
    add(1); add(2)
    return {"n": add(3), "sq": list(squares(data)), "chain": [*chain(data, "ab")],
            "comp": {k: [v for v in range(k)] for k in ("ab",) for k in [2]} == {2: [0, 1]},
            "sum": sum(x for x in data if x % 2), "set": sorted({x % 3 for x in data}),
            "walrus": (n := len(data)) + n}
""",
        {
            "n": 3,
            "sq": [1, 4, 9, 16, 25],
            "chain": [1, 2, 3, 4, 5, "a", "b"],
            "comp": True,
            "sum": 9,
            "set": [0, 1, 2],
            "walrus": 10,
        },
    ),
    "recursion, match, f-strings": (
        """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

class Pt:
    __match_args__ = ("a", "b")
    def __init__(self, a, b): self.a, self.b = a, b

def kind(v):
    match v:
        case []: return "empty"
        case [x, *rest] if rest: return f"list of {x!r} and {len(rest)}"
        case {"k": k, **rest}: return f"map {k}"
        case str() | int(): return "plain"
        case Pt(a, b): return f"point {a + b}"
        case complex(real=r): return f"{r:+.2f}"
        case _: return "other"

def fit_and_eval(data):
    return {"fib": fib(15), "kinds": [kind(v) for v in ([], data, {"k": 1}, "s", Pt(1, 2), 1j, None)],
            "f": f"{3.14159:>8.2f}|{data=}", "fmt": "{} {:>3} {a}".format(1, 2, a=3),
            "pct": "%s-%03d" % ("a", 7), "name": fib.__name__, "main": __name__ == "__main__"}
""",
        {
            "fib": 610,
            "kinds": [
                "empty",
                "list of 1 and 4",
                "map 1",
                "plain",
                "point 3",
                "+0.00",
                "other",
            ],
            "f": "    3.14|data=[1, 2, 3, 4, 5]",
            "fmt": "1   2 3",
            "pct": "a-007",
            "name": "fib",
            "main": False,
        },
    ),
    "sorting and built-ins": (
        """
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
""",
        {
            "s": [5, 4, 3, 2, 1],
            "ps": [1, 3],
            "zip": [1, "1"],
            "any": True,
            "round": 2.67,
            "div": [3, 1],
            "get": 9,
            "has": True,
            "red": 120,
            "cache": 4,
            "deco": 6,
            "name": "add",
            "part": 8,
            "min": 1,
            "bytes": "A",
        },
    ),
    "statistics and itertools": (
        """
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
""",
        {
            "mean": 3,
            "sd": 1.4142135623730951,
            "acc": [1, 3, 6, 10, 15],
            "comb": 10,
            "count": {"a": 2, "b": 1, "c": 1},
            "deque": [4, 5],
            "row": {"a": 1, "b": 2},
            "d": {"0": [2, 4], "1": [1, 3, 5]},
            "it": True,
            "hyp": 5.0,
            "od": {"a": 1},
            "cm": 1,
        },
    ),
    "decimal, datetime, re, json": (
        """
import re, json, datetime
from decimal import Decimal, ROUND_HALF_UP
from fractions import Fraction
from datetime import timedelta
from enum import Enum
from typing import NamedTuple, Optional

class Color(Enum):
    RED = 1
    BLUE = 2

class Pair(NamedTuple):
    a: int
    b: Optional[int] = None

def fit_and_eval(data):
    when = datetime.datetime.strptime("2026-11-20 07:00", "%Y-%m-%d %H:%M") + timedelta(hours=30)
    return {"dec": str(Decimal("2.675").quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)),
            "frac": str(Fraction(1, 3) + Fraction(1, 6)), "when": when.isoformat(),
            "re": re.findall(r"(\\w)(\\d)", "a1 b2"), "sub": re.sub("a+", lambda m: "<" + m.group() + ">", "baab"),
            "json": json.loads(json.dumps({"a": [1, 2.5, None]}, sort_keys=True)),
            "enum": Color.RED.name, "pair": Pair(1)}
""",
        {
            "dec": "2.68",
            "frac": "1/2",
            "when": "2026-11-21T13:00:00",
            "re": [["a", "1"], ["b", "2"]],
            "sub": "b<aa>b",
            "json": {"a": [1, 2.5, None]},
            "enum": "RED",
            "pair": [1, None],
        },
    ),
    "abstract classes, heaps, copies": (
        """
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
""",
        {
            "call": 8,
            "h": 1,
            "b": 3,
            "box": [1, 2, True, ["a"]],
            "s": "0123456789",
            "t": "hello…",
        },
    ),
    "random": (
        """
import random
def fit_and_eval(data):
    xs = list(data)
    random.shuffle(xs)
    return {"sorted": sorted(xs), "same": random.Random(3).random() == random.Random(3).random()}
""",
        {"sorted": [1, 2, 3, 4, 5], "same": True},
    ),
    "numpy": (
        """
import numpy as np
from numpy import linalg

def fit_and_eval(data):
    a = np.array(data, dtype=float)
    m = a[:4].reshape(2, 2)
    return {"mean": a.mean(), "norm": np.linalg.norm(a), "int": np.int64(7), "flag": np.bool_(True),
            "solve": linalg.solve(m, np.ones(2)).round(6), "idx": int(np.argmax(a)),
            "dtype": str(a.dtype), "rng": np.random.default_rng(1).integers(0, 10, 3)}
""",
        {
            "mean": 3.0,
            "norm": 7.416198487095663,
            "int": 7,
            "flag": True,
            "solve": [-1.0, 1.0],
            "idx": 4,
            "dtype": "float64",
            "rng": [4, 5, 7],
        },
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_ordinary_programs_work_exactly(capsule: Capsule, name: str) -> None:
    """What people and models write every day runs, and gives exact metrics."""
    code, metrics = PROGRAMS[name]
    execution = capsule.run(code, [1, 2, 3, 4, 5])
    assert (execution.error, execution.status) == (None, "ok")
    assert execution.metrics == metrics
    assert [type(item) for item in execution.metrics.values()] == [
        type(item) for item in metrics.values()
    ]
