"""The names of builtins under which a function finds something else around it.

    from statistics import mean as sum

    shadowed_around(check)      ["sum"]

Rule: what the module binds counts, and what an enclosing function binds. The source of
the function alone does not show it: by itself it would take Python's own.
"""

from __future__ import annotations

import builtins
from types import FunctionType

from muniment.programs.called.layers import layers_of

__all__ = ["shadowed_around"]


def shadowed_around(function: object) -> list[str]:
    """Return the names of builtins that are bound around *function*, sorted."""
    own, found = vars(builtins), set[str]()
    for layer in layers_of(function):
        if isinstance(layer, FunctionType):
            spaces = layer.__globals__
            found |= {
                name
                for name in own.keys() & spaces.keys()
                if spaces[name] is not own[name] and not _is_of_every_module(name)
            }
            found |= own.keys() & {*layer.__code__.co_freevars}
    return sorted(found)


def _is_of_every_module(name: str) -> bool:
    """Tell whether *name* is one such as ``__name__``, which every module binds."""
    return name.startswith("__") and name.endswith("__")
