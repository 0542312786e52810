"""Has packages ask, where they would do for a program what it may not do by itself.

    table.agg("to_csv", 0, path)               ->  AttributeError
    table.query("@f.__self__.open(@path)")     ->  AttributeError
    CountVectorizer(input="filename")          ->  PermissionError, when it reads

Rules:

- What a package looks up by a text of the program's goes by the same tables as
  ``getattr``; what it opens by a path of the program's does not open.
- A name is put before the built-in one in the globals of a module that uses it so;
  nothing else of a package changes. What is not loaded is left alone, and what is
  tightened already stays as it is.

The walls hold without this. Runs in the child, whose packages are its own.
"""

from __future__ import annotations

import sys

from muniment_plugins.capsule.rules import FORBIDDEN_ATTRIBUTES
from muniment_plugins.capsule.substitutes import check_attribute

TYPE_CHECKING = False  # typing itself costs more than a bare interpreter's start
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, NoReturn

__all__ = ["tighten"]

_BY_NAME = (
    "pandas.core.apply",
    "pandas.core.groupby.generic",
    "pandas.core.groupby.groupby",
)
"""Modules that call the method that a text names."""

_BY_PATH = ("sklearn.feature_extraction.text", "sklearn.tree._export")
"""Modules that open the file that a text names."""

_SPOKEN = {"Attribute": "attr", "Name": "id", "keyword": "arg"}
_LOCAL = "__pd_eval_local_"


def tighten() -> None:
    """Tighten what is loaded in this process."""
    for names, name, substitute in (
        (_BY_NAME, "getattr", _named),
        (_BY_PATH, "open", _unopened),
    ):
        for loaded in filter(None, map(sys.modules.get, names)):
            vars(loaded)[name] = substitute
    for name, step in _STEPS.items():
        module = sys.modules.get(name)
        if module is not None:
            step(module)


def _named(target: object, name: str, *default: object) -> object:
    if name in FORBIDDEN_ATTRIBUTES:
        raise AttributeError(f"{name} is not available in a capsule")
    return getattr(target, name, *default)


def _unopened(*_args: object, **_kwargs: object) -> NoReturn:
    raise PermissionError("files are not available in a capsule")


def _expressions(module: ModuleType) -> None:
    """Check the names in the expressions that tables evaluate."""
    visitor: Any = vars(module)["BaseExprVisitor"]
    genuine: Callable[..., object] = visitor.visit
    if genuine.__module__ == __name__:
        return

    def visit(self: object, node: object, **kwargs: object) -> object:
        member = _SPOKEN.get(type(node).__name__)
        spoken = getattr(node, member) if member is not None else None
        if isinstance(spoken, str):
            check_attribute(spoken.removeprefix(_LOCAL))
        return genuine(self, node, **kwargs)

    visitor.visit = visit


def _tables(module: ModuleType) -> None:
    """Keep the names that queries look up to those of the program's own frame."""
    frame: Any = vars(module)["DataFrame"]
    genuine: Callable[..., object] = frame.query
    if genuine.__module__ == __name__:
        return

    def query(self: object, expr: str, **kwargs: object) -> object:
        if "level" in kwargs:
            raise TypeError("level is not available in a capsule")
        return genuine(self, expr, level=1, **kwargs)

    query.__doc__ = genuine.__doc__
    frame.query = query


def _memory(module: ModuleType) -> None:
    """Let nothing be cached in files."""
    memory: Any = vars(module)["Memory"]
    genuine: Callable[..., object] = memory.__init__
    if genuine.__module__ == __name__:
        return

    def __init__(self: object, location: object = None, **kwargs: object) -> None:
        if location is not None:
            raise PermissionError("files are not available in a capsule")
        genuine(self, location, **kwargs)

    memory.__init__ = __init__


_STEPS: dict[str, Callable[[ModuleType], None]] = {
    "joblib.memory": _memory,
    "pandas.core.computation.expr": _expressions,
    "pandas.core.frame": _tables,
}
