"""Structural patterns: sequences, mappings, classes, alternatives and guards."""
from dataclasses import dataclass


@dataclass
class Circle:
    radius: float


@dataclass
class Rectangle:
    width: float
    height: float


def area(shape):
    match shape:
        case Circle(radius=r):
            return round(3.14159 * r * r, 2)
        case Rectangle(width=w, height=h) if w == h:
            return f"square {w * h}"
        case Rectangle(w, h):
            return w * h
        case _:
            return None


def command(text):
    match text.split():
        case ["go", ("north" | "south") as direction]:
            return f"walk {direction}"
        case ["take", item, *others]:
            return f"take {item} and {len(others)} more"
        case ["quit"]:
            return "bye"
        case []:
            return "silence"
        case [other, *_]:
            return f"what is {other}?"


def event(value):
    match value:
        case {"type": "click", "position": [x, y]}:
            return x + y
        case {"type": "key", "key": str(key), **rest}:
            return f"{key}{len(rest)}"
        case True | False:
            return "flag"
        case int(n) if n > 100:
            return "large"
        case int() | float():
            return "number"
        case None:
            return "none"
        case (1, 2, *_):
            return "starts"
        case _:
            return "unknown"


def fit_and_eval(data):
    shapes = [Circle(2), Rectangle(2, 3), Rectangle(2, 2), "line"]
    events = [{"type": "click", "position": (1, 2)}, {"type": "key", "key": "a", "alt": 1},
              True, 101, 7, 1.5, None, [1, 2, 3], "x"]
    return {
        "areas": [area(s) for s in shapes],
        "commands": [command(c) for c in ("go north", "take lamp key", "quit", "", "dance now")],
        "events": [event(e) for e in events],
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'areas': [12.57, 6, 'square 4', None],
 'commands': ['walk north', 'take lamp and 1 more', 'bye', 'silence',
              'what is dance?'],
 'events': [3, 'a1', 'flag', 'large', 'number', 'number', 'none', 'starts',
            'unknown']}
