"""Names of a module that are loaded on first use (PEP 562).

    __getattr__ = lazy(__name__, {"Capsule": ".running", "Run": ".runs.run"})

Rules:

- A home is a module as `importlib.import_module` takes it, relative to the package, and
  after a colon the name there, if it is another one.
- Type checkers do not use this: they find each name in the module's imports under
  ``TYPE_CHECKING``.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # as in the package, which imports this first
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["lazy"]


def lazy(module: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of *module* that finds each name in its home."""

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, _, other = homes[name].partition(":")
        return getattr(importlib.import_module(home, module), other or name)

    return load
