"""Data classes that order themselves, with defaults and frozen ones."""
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


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'p': {'x': 1, 'y': 2, 'tags': ['made']},
 'r': 5,
 'lt': True,
 'f': 'Frozen(v=1.5)',
 'h': True}
