"""Names of a module that are loaded on first use (PEP 562), and those that are by now.

    __getattr__ = lazy(__name__, {"Capsule": ".running", "Run": ".runs.run"})
    loaded("numpy", "ndarray")        the class, or None in a process that has none

Rules:

- A home is a module as `importlib.import_module` takes it, relative to the package, and
  after a colon the name there, if it is another one.
- Type checkers do not use this: they find each name in the module's imports under
  ``TYPE_CHECKING``.
- What nobody loaded is not loaded to be asked about. A module that another thread is
  loading at the moment is in `sys.modules` with few of its names, so each is looked for.
"""

from __future__ import annotations

import importlib
import sys

TYPE_CHECKING = False  # as in the package, which imports this first
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

__all__ = ["lazy", "loaded"]


def lazy(module: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of *module* that finds each name in its home."""

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, _, other = homes[name].partition(":")
        return getattr(importlib.import_module(home, module), other or name)

    return load


def loaded(module: str, name: str) -> Any:
    """Return *name* of *module*, or None if the process has not loaded it so far."""
    return getattr(sys.modules.get(module), name, None)
