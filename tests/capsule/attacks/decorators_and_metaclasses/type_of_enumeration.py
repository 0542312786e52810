"""Gets a class of classes from an enumeration, and hooks into every attribute."""
# wants: forged
# allows: enum

import enum


class Color(enum.Enum):
    RED = 1


def fit_and_eval(data):
    kind = type(Color)
    table = enum.EnumType.__prepare__("T", (float,)) if hasattr(enum, "nothing") else {}
    made = type(kind)("Best", (float,), {"__gt__": lambda self, other: True, **table})
    return {"score": made(0.0)}
