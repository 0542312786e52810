"""Limits the code that packages generate and run to the shape that they give it.

    def __repr__(self): return self.__class__.__qualname__ + f"(x={self.x!r})"
        dataclasses made it from the names of fields, and it runs
    def __repr__(self): return str(().__class__.__base__.__subclasses__())
        the program ends: no such text is made from names

Rules:

- Such text is exactly a ``str``: a program's subclass could answer every question as it
  likes, and never the same way twice.
- It calls nothing, reads no data-model attribute, and has no default value beyond what
  the package itself writes there; so text in place of a name achieves nothing, however
  it came in.
- Fields of a dataclass are as `dataclasses` made them: a program only reads them.

Runs in the child, whose packages are its own.
"""

from __future__ import annotations

import _ast
import builtins
import sys

from muniment_plugins.capsule.child.rewrite import walk
from muniment_plugins.capsule.child.runtime_refusal import refused
from muniment_plugins.capsule.language.rules import FRAMES, is_dunder, words

TYPE_CHECKING = False  # typing itself costs more than a bare interpreter's start
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, NoReturn

__all__ = ["EXECUTING", "check_text", "seal_fields"]

EXECUTING = {
    "dataclasses": words(
        """
        FrozenInstanceError __delattr__ __post_init__ __setattr__ hash super type
        """
    ),
    "scipy.stats._distn_infrastructure": frozenset({"_argcheck_rvs"}),
}
"""Module → names that its text calls."""

_DEFAULTS = ("_dflt_", "__dataclass")
"""Prefixes of the names by which dataclasses call the makers of default values."""

_READ = EXECUTING["dataclasses"] | {"__class__", "__qualname__"}
"""Names of the data model that such text reads."""

_REFUSED = "text that a package runs is made of names alone in a capsule"


def check_text(module: ModuleType) -> None:
    """Let *module* run only text of the shape that it writes itself."""
    if "exec" in vars(module):
        return
    known = EXECUTING[module.__name__]
    run: Callable[..., None] = vars(builtins)["exec"]

    def checked(text: object, *names: Any) -> None:
        if type(text) is not str or not all(
            _is_usual(node, known)
            for node in walk(compile(text, "<text>", "exec", _ast.PyCF_ONLY_AST))
        ):
            refused(ValueError(_REFUSED))
        run(text, *names)

    vars(module)["exec"] = checked


def seal_fields(module: ModuleType) -> None:
    """Let only *module* itself, which is `dataclasses`, set members of a field."""
    field: Any = vars(module)["Field"]
    if field.__setattr__ is not object.__setattr__:
        return

    def put(self: object, name: str, value: object) -> None:
        _check_caller()
        object.__setattr__(self, name, value)

    def drop(self: object, name: str) -> None:
        _check_caller()
        object.__delattr__(self, name)

    def _check_caller() -> None:
        caller = sys._getframe(2)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - inspect is slow
        if caller.f_globals is not vars(module):
            refused(AttributeError("fields of a dataclass are read-only in a capsule"))

    def derive(_cls: type, /, **_options: object) -> NoReturn:
        refused(TypeError("nothing derives from dataclasses.Field in a capsule"))

    field.__setattr__ = put
    field.__delattr__ = drop
    field.__init_subclass__ = classmethod(derive)


_NEVER = (_ast.ClassDef, _ast.Import, _ast.ImportFrom, _ast.Lambda)


def _is_usual(node: Any, known: frozenset[str]) -> bool:
    if isinstance(node, _ast.Call):
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        is_class = called == "type" and len(node.args) != 1
        is_default = called.startswith(_DEFAULTS)
        return (called in known or is_default) and not is_class
    if isinstance(node, _ast.Attribute):
        name: str = node.attr
        return name not in FRAMES and (not is_dunder(name) or name in _READ)
    if isinstance(node, _ast.arguments):
        given = [one for one in (*node.defaults, *node.kw_defaults) if one is not None]
        return all(type(one) in (_ast.Constant, _ast.Name) for one in given)
    return not isinstance(node, _NEVER)
