"""Has a pattern read the method of a text, by the field of a class of its own."""
# wants: inside
# allows: abc dataclasses

from abc import ABC
from dataclasses import dataclass


@dataclass
class Text(ABC):
    format: object


Text.register(str)


def helper():
    return None


def fit_and_eval(data):
    match "{0.__globals__[__builtins__]}":
        case Text(fill):
            names = fill(helper)
    match "{0.__class__.__init__.__globals__[os].environ}":
        case Text(fill):
            import contextlib

            return {"got": fill(contextlib.ExitStack()), "n": len(names)}
