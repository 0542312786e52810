"""Makes packages ask before they do for a program what it may not do itself.

    table.agg("to_csv", 0, path)               ->  AttributeError
    table.agg("_mgr")                          ->  AttributeError
    table.plot(backend="antigravity")          ->  ImportError
    table.query("@f.__self__.open(@path)")     ->  AttributeError
    Bunch(__array_interface__=…)               ->  no memory by its address for NumPy
    CountVectorizer(input="filename")          ->  PermissionError, when it reads
    fields(Point)[0].name = "x) …"             ->  AttributeError, and no text to run

Rules:

- If a package looks up an attribute by a program's text, the tables of ``getattr``
  apply; if it opens a file by a program's path, opening fails.
- A substitute shadows the built-in name in the globals of each module that uses it so;
  nothing else of a package changes. Modules that are not loaded are left alone, and
  those tightened before stay as they are.

The isolation layers hold without this. Runs in the child, whose packages are its own.
"""

from __future__ import annotations

import sys

from muniment_plugins.capsule.child.generated_code import (
    EXECUTING,
    check_text,
    seal_fields,
)
from muniment_plugins.capsule.child.guard import module_behind
from muniment_plugins.capsule.child.ownership import (
    check_attribute,
    is_own,
    look_up,
    looked_up,
    own,
)
from muniment_plugins.capsule.child.runtime_refusal import LIMITS, refused, settle
from muniment_plugins.capsule.child.substitutes import attrgetter_of
from muniment_plugins.capsule.language.rules import is_dunder, is_private

TYPE_CHECKING = False  # typing itself costs more than a bare interpreter's start
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, NoReturn

__all__ = ["BY_EXPRESSION", "BY_NAME", "BY_PATH", "tighten"]

BY_NAME = (
    "numpy._core.fromnumeric",
    "numpy._core.records",
    "pandas.core.apply",
    "pandas.core.base",
    "pandas.core.col",
    "pandas.core.flags",
    "pandas.core.frame",
    "pandas.core.groupby.generic",
    "pandas.core.groupby.groupby",
    "pandas.core.internals.managers",
    "pandas.core.methods.selectn",
    "pandas.core.resample",
    "pandas.core.reshape.pivot",
    "scipy.linalg.blas",
    "scipy.optimize._optimize",
    "scipy.sparse._base",
    "scipy.stats._distn_infrastructure",
    "scipy.stats._hypotests",
    "scipy.stats._morestats",
    "scipy.stats._stats_py",
    "sklearn.base",
    "sklearn.ensemble._base",
    "sklearn.ensemble._stacking",
    "sklearn.frozen._frozen",
    "sklearn.gaussian_process.kernels",
    "sklearn.kernel_approximation",
    "sklearn.model_selection._search",
    "sklearn.model_selection._split",
    "sklearn.model_selection._validation",
    "sklearn.multiclass",
    "sklearn.pipeline",
    "sklearn.utils.validation",
)
"""Modules that look up an attribute by a text that may be the program's: a method that
``agg`` calls, a distribution, a parameter of an estimator."""

BY_EXPRESSION = ("pandas.core.computation.expr",)
"""Modules that read the attributes that an expression names."""

BY_PATH = ("sklearn.feature_extraction.text", "sklearn.tree._export")
"""Modules that open a file by its name."""

_PACKAGES = ("joblib", "numpy", "pandas", "scipy", "sklearn")

_SPOKEN = {"Attribute": "attr", "Name": "id", "keyword": "arg"}
_LOCAL = "__pd_eval_local_"


def tighten() -> None:
    """Tighten the modules that are loaded in this process."""
    for names, name, substitute in (
        (BY_NAME, "getattr", _named),
        (BY_EXPRESSION, "getattr", looked_up),
        (BY_PATH, "open", _unopened),
    ):
        for loaded in filter(None, map(sys.modules.get, names)):
            vars(loaded)[name] = substitute
    _getters()
    for loaded in filter(None, map(sys.modules.get, EXECUTING)):
        check_text(loaded)
    for name, step in _STEPS.items():
        module = sys.modules.get(name)
        if module is not None:
            step(module)


def _named(target: object, name: str, *default: object) -> object:
    asked = sys._getframe(1).f_code.co_consts  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - inspect is slow
    if type(name) is str and name in asked:  # the module's own code asks for it
        return getattr(target, name, *default)
    return getattr(_private(target, name), name, *default)


def _private(target: object, name: str) -> object:
    """Return *target* if its attribute *name* is public, or the program's own."""
    if is_own(target):
        return look_up(target, name)
    return own(target, name) if is_private(check_attribute(name)) else target


def _unopened(*_args: object, **_kwargs: object) -> NoReturn:
    refused(PermissionError("files are not available in a capsule"))


def _getters() -> None:
    """Let packages follow a text no further than a program may."""
    if "_operator" not in sys.modules:
        return
    genuine: Callable[..., object] = vars(sys.modules["_operator"])["attrgetter"]
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in _PACKAGES and (
            vars(module).get("attrgetter") is genuine
        ):
            vars(module)["attrgetter"] = attrgetter_of(genuine)


def _fields(module: ModuleType) -> None:
    """Let dataclasses recognise a textual ``typing.ClassVar`` through the view."""
    seal_fields(module)
    genuine: Callable[..., bool] = vars(module)["_is_type"]
    if genuine.__module__ == __name__:
        return

    def is_type(
        annotation: str, cls: type, a_module: Any, a_type: Any, predicate: Any
    ) -> bool:
        if genuine(annotation, cls, a_module, a_type, predicate):
            return True
        prefix, _, rest = annotation.strip().partition(".")
        around: Any = sys.modules.get(cls.__module__)
        seen: object = getattr(around, prefix.strip(), None)
        if module_behind(seen) is not a_module:
            return False
        said = rest.strip().partition("[")[0].strip()
        return bool(predicate(getattr(a_module, said, None), a_module))

    vars(module)["_is_type"] = is_type


def _callbacks(module: ModuleType) -> None:
    """Let no callback of a stack swallow an error that a limit raised in another."""
    stack: Any = vars(module)["_BaseExitStack"]
    genuine: Callable[..., Callable[..., object]] = stack._create_cb_wrapper  # noqa: SLF001 - no other way in
    if genuine.__module__ == __name__:
        return

    def create(*given: object, **named: object) -> Callable[..., object]:
        inner = genuine(*given, **named)

        def called(*error: object) -> object:
            try:
                return inner(*error)
            except LIMITS:
                settle()
                raise

        return called

    stack._create_cb_wrapper = staticmethod(create)  # noqa: SLF001 - as above


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
    """Restrict the names that queries look up to those of the program's own frame."""
    frame: Any = vars(module)["DataFrame"]
    genuine: Callable[..., object] = frame.query
    if genuine.__module__ == __name__:
        return

    def query(self: object, expr: str, **kwargs: object) -> object:
        if "level" in kwargs:
            refused(TypeError("level is not available in a capsule"))
        return genuine(self, expr, level=1, **kwargs)

    query.__doc__ = genuine.__doc__
    frame.query = query


def _backends(module: ModuleType) -> None:
    """Load no plotting backend by a program's text: it could name any module."""
    genuine: Callable[[str], object] = vars(module)["_load_backend"]
    if genuine.__module__ == __name__:
        return

    def load(backend: str) -> object:
        if backend != "matplotlib":
            refused(ImportError(f"Import not allowed: {backend}"))
        return genuine(backend)

    vars(module)["_load_backend"] = load


def _memory(module: ModuleType) -> None:
    """Allow no caching in files."""
    memory: Any = vars(module)["Memory"]
    genuine: Callable[..., object] = memory.__init__
    if genuine.__module__ == __name__:
        return

    def begin(self: object, location: object = None, **kwargs: object) -> None:
        if location is not None:
            refused(PermissionError("files are not available in a capsule"))
        genuine(self, location, **kwargs)

    memory.__init__ = begin


def _members(module: ModuleType) -> None:
    """Let enumerations that a call makes have only members, no hooks."""
    maker: Any = vars(module)["EnumType"]
    genuine: Callable[..., object] = maker._create_
    if genuine.__module__ == __name__:
        return

    def create(cls: object, class_name: str, names: Any, **kwargs: object) -> object:
        if not isinstance(names, str):
            names = list(names.items() if hasattr(names, "items") else names)
            for one in names:
                check_attribute(str(one if isinstance(one, str) else one[0]))
        return genuine(cls, class_name, names, **kwargs)

    maker._create_ = create


def _hide_hooks(name: str) -> Callable[[ModuleType], None]:
    """Return a step that keeps entries of a table from acting as hooks of its class."""

    def step(module: ModuleType) -> None:
        table: Any = vars(module)[name]
        genuine: Callable[..., object] = table.__getattr__
        if genuine.__module__ == __name__:
            return

        def entry(self: object, key: str) -> object:
            if is_dunder(key):
                raise AttributeError(key)
            return genuine(self, key)

        table.__getattr__ = entry

    return step


_STEPS: dict[str, Callable[[ModuleType], None]] = {
    "contextlib": _callbacks,
    "dataclasses": _fields,
    "enum": _members,
    "joblib.memory": _memory,
    "pandas.core.computation.expr": _expressions,
    "pandas.core.frame": _tables,
    "pandas.plotting._core": _backends,
    "pandas.core.generic": _hide_hooks("NDFrame"),
    "scipy._lib._util": _hide_hooks("_RichResult"),
    "sklearn.utils._bunch": _hide_hooks("Bunch"),
}
"""Module → what to do once it is loaded; no step changes a module twice."""
