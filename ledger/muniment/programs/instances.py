"""Callable objects that are not functions, named by the statement that makes them.

    scorer = Scorer(limit=3)                          in judges.py
    {"import": "judges:scorer", "source": "sha256:…"}          scorer
    {"import": "judges:scorer.strict", "source": "sha256:…"}   scorer.strict, a method

Rules:

- An object does not know its name. It takes that of a statement at the top of a module:
  first the module of its class, then the script that runs, then all other modules.
- Its source is that statement, after the source of its class if both are in one file:
  so another ``limit`` is another function. Its attributes are not recorded.
- An object that no such statement makes has ``<instance>`` in its name, as a nested
  function has ``<locals>``: it is known by its class, and cannot be found again.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import cast

from muniment.programs.source_text import source_of, statement_of

__all__ = ["Instance", "instance_of"]


@dataclass(frozen=True, slots=True)
class Instance:
    """How to find an object again, or a method of one."""

    module: str
    name: str
    source: str | None
    """The text that makes it; None if there is none."""
    file: str | None


def instance_of(program: object) -> Instance | None:
    """Return how to find *program*, an object or a method of one; None for others."""
    method, owner = "", program
    if inspect.ismethod(program):
        method, owner = f".{program.__name__}", program.__self__
    if isinstance(getattr(owner, "__qualname__", None), str):
        return None  # a function, or a class
    cls = type(owner)
    for module in _modules_of(cls):
        for name, made in _statements(module, owner):
            own = (_source(cls) or "") if module.__name__ == cls.__module__ else ""
            file = getattr(module, "__file__", None)
            return Instance(module.__name__, name + method, own + made, file)
    name = f"{cls.__qualname__}.<instance>{method}"
    return Instance(cls.__module__, name, _source(cls), _file(cls))


def _modules_of(cls: type) -> Iterator[ModuleType]:
    """Yield the modules that may have made an object, always in one order."""
    first = (cls.__module__, "__main__")
    names = [*first, *sorted(sys.modules.keys() - {*first})]
    found = (sys.modules.get(name) for name in dict.fromkeys(names))
    # By its type: some objects claim to be modules and are not.
    return (
        cast("ModuleType", one) for one in found if issubclass(type(one), ModuleType)
    )


def _statements(module: ModuleType, owner: object) -> Iterator[tuple[str, str]]:
    """Yield name and text of each statement of *module* that made *owner*."""
    # Not by attribute: that would load lazy modules.
    members = cast("dict[str, object]", ModuleType.__getattribute__(module, "__dict__"))
    names = [name for name, value in (*members.items(),) if value is owner]
    text = _source(module) if names else None
    for name in names:
        made = None if text is None else statement_of(text, name)
        if made is not None:
            yield name, made


def _source(thing: type | ModuleType) -> str | None:
    try:
        return source_of(thing)
    except (OSError, TypeError):
        return None


def _file(cls: type) -> str | None:
    try:
        return inspect.getfile(cls)
    except (OSError, TypeError):
        return None
