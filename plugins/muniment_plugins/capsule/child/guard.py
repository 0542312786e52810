"""The world as the program sees it: views of modules, and an import with a plan.

    import numpy            ->  View(numpy): public names, no modules
    import sklearn.metrics  ->  View(sklearn) with nothing but ``metrics``
    getattr(x, "__class__") ->  AttributeError

Rules:

- A view is read-only and holds the public names of a module that are not modules
  themselves; submodules only if the plan names them. Reading costs as much as for any
  attribute. A view has no ``__name__``, by which ``from x import y`` would find its way
  into the table of all modules.
- The plan is what the validator read from the program's own import statements.
- A name that the module has and its view lacks ends the program; a name that both lack
  is an ordinary error.
- Built-in functions that reach files, evaluation or namespaces do not exist.

Runs in the child; imports nothing that the program did not ask for.
"""

from __future__ import annotations

import builtins
import sys

from muniment_plugins.capsule.child.ownership import (
    build_class,
    is_buffer,
    is_own,
    look_up,
    looked_up,
    stored,
    trust,
)
from muniment_plugins.capsule.child.rewrite import QUESTIONS
from muniment_plugins.capsule.child.runtime_refusal import refused
from muniment_plugins.capsule.child.substitutes import MAKERS
from muniment_plugins.capsule.language.rules import EXPOSED, METHODS, WITHHELD, words
from muniment_plugins.capsule.protocol import is_list

TYPE_CHECKING = False  # typing itself costs more than a bare interpreter's start
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import ModuleType
    from typing import Any

    from muniment_plugins.capsule.child.substitutes import Maker

__all__ = ["View", "build_views", "guarded_import", "safe_builtins"]

_FUNCTIONS = words("""
    Ellipsis False None NotImplemented True __debug__ abs all any ascii bin bool
    bytearray bytes callable chr classmethod complex dict divmod enumerate filter float
    format frozenset hash hex id int isinstance issubclass iter len list map max min next
    object oct ord pow property range repr reversed round set slice sorted
    staticmethod str sum super tuple zip
""")

_ERRORS = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type)
    and issubclass(value, BaseException)
    and not name.startswith("_")
)
"""Every built-in exception of this Python: an except clause means what it says."""

_BUILTINS = _FUNCTIONS | _ERRORS


_ALIASES = {"pandas": {"offsets": "pandas.tseries.offsets"}}
"""Modules that a package shows under another name."""


_HALF_LISTED = frozenset({"pandas.api.types"})
"""Modules whose ``__all__`` lists less than they offer."""


_behind: dict[int, ModuleType] = {}
"""Address of a view → the module behind it."""


class View:
    """The public face of a module."""

    __slots__ = ("__dict__",)

    def __init__(self, names: Mapping[str, object], module: ModuleType) -> None:
        self.__dict__.update(names)
        _behind[id(self)] = module

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: modules are for reading."""
        refused(AttributeError(f"{name}: modules are read-only in a capsule"))

    def __delattr__(self, name: str) -> None:
        """Refuse: modules are for reading."""
        refused(AttributeError(f"{name}: modules are read-only in a capsule"))

    def __getattr__(self, name: str) -> object:
        """Distinguish a missing name from a withheld one."""
        module = _behind[id(self)]
        if _has(module, name):
            refused(
                AttributeError(
                    f"{module.__name__}.{name} is not available in a capsule; "
                    "compute with values that come in as data"
                )
            )
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")


trust(View)


def module_behind(view: object) -> ModuleType | None:
    """Return the module behind *view*, if it is a view."""
    return _behind.get(id(view)) if type(view) is View else None


def _has(module: ModuleType, name: str) -> bool:
    if hasattr(type(module), name) or f"{module.__name__}.{name}" in sys.modules:
        return True
    made = vars(module).get("__getattr__")
    if name in vars(module) or made is None:
        return name in vars(module)
    try:
        made(name)
    except AttributeError:
        return False
    except Exception:  # noqa: BLE001 - it has a way to make it, whatever that met
        return True
    return True


def build_views(plan: Iterable[str], clock: str = "real") -> dict[str, View]:
    """Return a view of every planned module and of the packages above it."""
    makers = {**MAKERS, **(_frozen() if clock == "frozen" else {})}
    planned = set(plan)
    above = {
        name.rsplit(".", count)[0]
        for name in planned
        for count in range(1, name.count(".") + 1)
    }
    views: dict[str, View] = {}
    for name in sorted(planned | above, key=lambda name: -name.count(".")):
        names = _public(name, makers) if name in planned else {}
        for alias, module in (_ALIASES.get(name, {}) if names else {}).items():
            names[alias] = View(_public(module, makers), sys.modules[module])
        for inner, view in views.items():
            if inner.rpartition(".")[0] == name:
                names[inner.rpartition(".")[2]] = view
        views[name] = View(names, sys.modules[name])
    return views


def _frozen() -> Mapping[str, Maker]:
    from muniment_plugins.capsule.child.clocks import FROZEN  # noqa: PLC0415 - for few

    return FROZEN


def _public(name: str, makers: Mapping[str, Maker]) -> dict[str, object]:
    module = sys.modules[name]
    package = name.partition(".")[0]
    listed: Iterable[str] | None = getattr(module, "__all__", None)
    if not listed or name in _HALF_LISTED:
        listed = (k for k, value in vars(module).items() if _is_own(value, package))
    withheld = WITHHELD.get(package, frozenset())
    exposed = EXPOSED.get(name)
    held = _held(module, [*listed])
    names = {
        key: value
        for key, value in held.items()
        if not key.startswith("_")
        and not (key in withheld or (package == "pandas" and key.startswith("read_")))
        and (exposed is None or key in exposed)
        and not isinstance(value, type(sys))
    }
    maker = makers.get(name)
    told = {
        key: vars(module)[key]
        for key in ("__doc__", "__version__")
        if type(vars(module).get(key)) is str
    }
    return {"__doc__": None, **told, **names, **(maker(names) if maker else {})}


def _held(module: ModuleType, listed: list[str]) -> dict[str, object]:
    """Return those members of *module* that are *listed*.

    A module that holds none of them makes them when asked, as ``numpy.char`` does from
    NumPy 2.5 on; names that it warns about are deprecated, and left out.
    """
    held = {key: vars(module)[key] for key in listed if key in vars(module)}
    made: Callable[[str], object] | None = vars(module).get("__getattr__")
    if held or made is None:
        return held
    from warnings import catch_warnings, simplefilter  # noqa: PLC0415 - for few

    with catch_warnings():
        simplefilter("error")
        for key in listed:
            try:
                held[key] = made(key)
            except (AttributeError, Warning):
                continue
    return held


def _is_own(value: object, package: str) -> bool:
    """Distinguish what a module defines from what it merely imported for itself."""
    origin = getattr(value, "__module__", None)
    return not isinstance(origin, str) or origin.partition(".")[0].lstrip("_") in (
        package,
        "builtins",
    )


def guarded_import(views: Mapping[str, View]) -> Callable[..., object]:
    """Return the ``__import__`` of a program whose modules are *views*."""
    genuine = builtins.__import__

    def import_view(
        name: str,
        _globals: object = None,
        _locals: object = None,
        fromlist: Any = (),
        level: int = 0,
    ) -> object:
        if is_list(fromlist):
            # Python statements pass a tuple or None; a list comes from C code that
            # imports for itself (datetime.strptime, say) on behalf of the program.
            return genuine(name, None, None, fromlist, level)
        if name == "__future__":
            return genuine(name, None, None, (), level)
        if level or name not in views:
            refused(ImportError(f"Import not allowed: {name}"))
        return views[name if fromlist else name.partition(".")[0]]

    return import_view


def safe_builtins(
    import_view: Callable[..., object], write: Callable[[str], object]
) -> dict[str, object]:
    """Return the built-in names of a program that prints through *write*."""
    names = {name: getattr(builtins, name) for name in _BUILTINS}
    return {
        **names,
        **QUESTIONS,
        "__build_class__": build_class,
        "__import__": import_view,
        "getattr": looked_up,
        "hasattr": _hasattr,
        "print": _printer(write),
        "setattr": _setattr,
        "type": Type,
    }


def _hasattr(target: object, name: str, /) -> bool:
    if name in METHODS:  # asks which protocols it follows
        return hasattr(target, name)
    try:
        looked_up(target, name)
    except AttributeError:
        return False
    return True


def _setattr(target: Any, name: str, value: object, /) -> None:
    setattr(stored(look_up(target, name, reads=False)), name, value)


def _printer(write: Callable[[str], object]) -> Callable[..., None]:
    def printed(
        *values: object,
        sep: Any = " ",
        end: Any = "\n",
        file: Any = None,
        flush: bool = False,
    ) -> None:
        for name, given in (("sep", sep), ("end", end)):
            if not (given is None or isinstance(given, str)):
                kind = type(given).__name__
                raise TypeError(f"{name} must be None or a string, not {kind}")
        if not (file is None or is_own(file) or is_buffer(file)):
            refused(ValueError("print writes to the capsule's own output only"))
        pieces: list[object] = [" " if sep is None else sep] * (2 * len(values))
        pieces[::2] = values
        pieces[max(0, len(pieces) - 1) :] = ["\n" if end is None else end]
        shown: list[str] = []
        try:
            # A file of the program's gets each piece, as it does anywhere.
            for piece in pieces:
                (shown.append if file is None else file.write)(str(piece))
        finally:
            if shown:
                write("".join(shown))
        if flush and file is not None:
            file.flush()

    return printed


class _OneArgument(type):
    """Makes `Type` answer as ``type`` does, except for making classes."""

    def __call__(cls, *args: object) -> Any:
        """Return the type of the one argument."""
        if len(args) != 1:
            refused(
                TypeError("type() takes 1 argument in a capsule; use a class statement")
            )
        kind = type(args[0])
        # The type of a class makes classes: `Type` hides it.
        return Type if issubclass(kind, type) else kind

    def __instancecheck__(cls, instance: object) -> bool:
        """Tell whether *instance* is a class."""
        return isinstance(instance, type)


class Type(metaclass=_OneArgument):
    """The program's ``type``."""

    def __class_getitem__(cls, item: object) -> object:
        """Return ``type[item]``, for annotations."""
        return type[item]
