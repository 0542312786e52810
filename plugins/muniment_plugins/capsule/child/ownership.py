"""Which attributes a program may use, decided by the object at hand, not by the name.

    class Account: _owner = ""      its _owner belongs to the program
    frame._mgr                      belongs to a table: the program ends
    "{:.2f}".format                 fills in, and reads no forbidden attribute
    pd.DataFrame.sum = mine         a package's class stays as it is: the program ends
    table.to_csv()                  gives text; table.to_csv("place") ends the program

Rules:

- The program owns the classes that it makes, their instances, and its functions. A name
  that a package's base class uses itself belongs to that package even in a class of the
  program's: the program neither reads nor sets it.
- The code that `rewrite` puts around attributes calls these functions, and so do
  ``getattr`` and the like.

Runs in the child; imports nothing that the program did not ask for.
"""

from __future__ import annotations

import builtins
import sys

from muniment_plugins.capsule.child.runtime_refusal import refused
from muniment_plugins.capsule.isolation.syscall_trap import PROGRAM
from muniment_plugins.capsule.language.rules import (
    FRAMES,
    READABLE,
    TEXTS,
    is_dunder,
    is_guarded,
    is_kept,
    is_private,
)

TYPE_CHECKING = False  # typing itself costs more than a bare interpreter's start
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import CodeType
    from typing import Any

__all__ = [
    "above",
    "adopt",
    "build_class",
    "check_attribute",
    "check_fields",
    "formatting",
    "is_buffer",
    "is_own",
    "is_owned",
    "look_up",
    "looked_up",
    "own",
    "reach",
    "set_field",
    "stored",
    "trust",
    "written",
]

_Function = type(lambda: None)
_Code = type((lambda: None).__code__)

_string: Any = __import__("_string")  # built in, and unknown to type checkers

_own: set[type] = set()
_views: list[type] = []
_allowed: set[tuple[object, ...]] = set()
_planted: dict[type, frozenset[str]] = {}
_used: dict[type, frozenset[str]] = {}
_genuine: Callable[..., Any] = vars(builtins)["__build_class__"]


def adopt(made: Any) -> Any:
    """Count class *made* as the program's own; refuse what patterns must not read."""
    if not isinstance(made, type):
        return made
    _own.add(made)
    names: tuple[str, ...] = getattr(made, "__match_args__", ())
    _refuse_frames(names)
    if any(is_private(name) or is_guarded(name) for name in {*names} - {"args"}):
        # A pattern reads these names of any object that claims to be of this class.
        setattr(made, "__match_args__", ())  # noqa: B010 - type has no such attribute
    return made


def build_class(body: Any, name: str, /, *bases: Any, **keywords: Any) -> Any:
    """Make a class of the program's; refuse names that a base class uses itself."""
    said: tuple[str, ...] = body.__code__.co_names
    planted = frozenset(filter(is_private, said))
    kinds: list[Any] = [getattr(base, "__origin__", base) for base in bases]  # of X[T]
    names: set[str] = set(planted)
    for kind in kinds:
        for one in getattr(kind, "__mro__", ()):
            names |= _planted.get(one, frozenset[str]())
    _refuse_frames(said)
    for kind in kinds:
        for private in names if isinstance(kind, type) else ():
            _refuse_foreign(kind, private)
    made = adopt(_genuine(body, name, *bases, **keywords))
    if isinstance(made, type):
        _planted[made] = planted
    return made


def is_own(target: object) -> bool:
    """Tell whether *target* is the program's: a class, an instance, a function."""
    kind = _kind(target)
    if isinstance(target, type):
        return target in _own
    if kind is _Function:
        function: Any = target
        return bool(function.__code__.co_filename == PROGRAM)
    return kind in _own


def is_owned(target: object, name: str) -> bool:
    """Tell whether attribute *name* of *target* is the program's too."""
    of: Any = target
    kind = _kind(of)
    if kind is super:
        kind = of.__self_class__
    elif issubclass(kind, type):
        kind = of
        # Subclasses inherit what a class has.
        if any(not is_owned(one, name) for one in type.__subclasses__(kind)):
            return False
    if kind in _own:
        return not _is_foreign(kind, name)
    return is_own(target)


def above(target: Any, name: str) -> Any:
    """Return *target* if the program may name its data-model method *name*.

    That holds for ``super(Own, self)``, and for a class that has the method from one of
    the program's or from ``object``.
    """
    if _kind(target) is super:
        if target.__thisclass__ in _own:
            return target
    elif is_own(target) and isinstance(target, type):
        for kind in target.__mro__:
            if name in vars(kind) and (kind in _own or kind is object):
                return target
            if name in vars(kind):
                break
    return refused(
        AttributeError(f"{name} is not available in a capsule, but for own classes")
    )


def own(target: Any, *names: str) -> Any:
    """Return *target* if the program may use its private *names*."""
    kind = _kind(target)
    if (kind, names) in _allowed:
        return target
    for name in names:
        if not is_owned(target, name):
            refused(
                AttributeError(f"{name} is private, and not available in a capsule")
            )
    if kind in _own:
        _allowed.add((kind, names))
    return target


def reach(target: Any, name: str) -> Any:
    """Return *target* if the program may use its *name*, which some objects forbid."""
    if name in FRAMES:
        refused(AttributeError(f"{name} is not available in a capsule"))
    if isinstance(target, BaseException) and name in ("args", "obj"):
        return _handed(target, name)
    if name in ("args", "obj") or type(target) in _views or is_owned(target, name):
        return target
    if name.startswith("to_") and not _is_known(target):
        return target
    return refused(
        AttributeError(
            f"{name} is not available in a capsule, where nothing is written, "
            "evaluated or taken apart"
        )
    )


def trust(kind: type) -> None:
    """Let programs read everything in instances of *kind*: it was chosen for them."""
    _views.append(kind)


def look_up(target: Any, name: object, *, reads: bool = True) -> Any:
    """Return *target* if the program may use its attribute with a computed *name*."""
    text = check_attribute(name, reads=reads, guarded=False)
    if is_private(text):
        return own(target, text)
    return reach(target, text) if is_guarded(text) else target


def looked_up(target: Any, name: object, /, *default: object) -> Any:
    """Return what ``getattr`` does."""
    if name == "format" and isinstance(target, (str, type)):
        return formatting(target)
    if name in TEXTS:
        return written(target, str(name))
    return getattr(look_up(target, name), name, *default)  # type: ignore[call-overload]


def check_attribute(name: object, *, reads: bool = True, guarded: bool = True) -> str:
    """Return *name* if a program may use it as an attribute of any object.

    Without *guarded*, it is enough that some objects allow it.
    """
    if type(name) is not str:
        raise TypeError("attribute name must be a string")
    if (
        (is_dunder(name) and not (reads and name in READABLE))
        or name in FRAMES
        or (guarded and is_guarded(name) and name not in ("args", "obj"))
    ):
        refused(AttributeError(f"{name} is not available in a capsule"))
    return name


def formatting(target: Any) -> Any:
    """Return ``target.format``; for text, a version that reads nothing forbidden."""
    kind = _kind(target)
    if issubclass(kind, str) and not (kind in _own and is_owned(target, "format")):

        def fill(*values: object, **named: object) -> str:
            text = str.__str__(target)
            check_fields(text)
            return text.format(*values, **named)

        return fill
    if target is str:
        return _filled
    return reach(target, "format").format


def _filled(text: str, *values: object, **named: object) -> str:
    if type(text) is not str:
        raise TypeError("descriptor 'format' requires a 'str' object")
    check_fields(text)
    return text.format(*values, **named)


def check_fields(text: str) -> None:
    """Refuse a template whose fields read what a program may not read."""
    parts: list[tuple[str, str | None, str, str | None]]
    parts = list(_string.formatter_parser(text))
    for _, field, spec, _ in parts:
        if field is None:
            continue
        for is_attribute, name in _string.formatter_field_name_split(field)[1]:
            if is_attribute and is_kept(name):
                refused(
                    AttributeError(f"{name} is not available to a template; name it")
                )
        check_fields(spec)


def written(target: Any, name: str) -> Any:
    """Return a table's writing method, limited to returning text."""
    method = getattr(target, name)
    if name not in TEXTS or not _is_known(target) or is_owned(target, name):
        return method
    place = "buf" if name in ("to_html", "to_markdown", "to_string") else "path_or_buf"

    def write(*values: Any, **named: Any) -> object:
        into = values[0] if values else named.get(place)
        if not (into is None or is_buffer(into)):
            refused(
                PermissionError(
                    f"{name}: files are not available in a capsule; call it without "
                    "a place, for the text"
                )
            )
        return method(*values, **named)

    return write


def is_buffer(target: object) -> bool:
    """Tell whether *target* is a genuine file in memory."""
    io: Any = sys.modules["_io"]
    return type(target) in (io.StringIO, io.BytesIO)


def set_field(target: Any, name: str, value: object, /) -> None:
    """Set an attribute of an instance of the program's own frozen class."""
    if not is_own(target):
        refused(TypeError("object.__setattr__ is for objects of your own"))
    object.__setattr__(look_up(target, name, reads=False), name, value)


def stored(target: Any) -> Any:
    """Return *target* if the program may set its attributes.

    It may not on a class or function of a package, which the package would then run.
    """
    if isinstance(target, (type, _Function)) and not is_own(target):
        refused(
            AttributeError(
                "classes and functions of a package are read-only in a capsule; derive "
                "a class, or call it from a function of your own"
            )
        )
    return target


def _kind_behind(above: Any) -> type:
    """Return the class of the object behind a ``super()``."""
    behind: type = above.__self_class__
    return behind


def _kind(target: object) -> Any:
    return type(target)


def _handed(error: Any, name: str) -> Any:
    """Return *error* if its attribute *name* exposes no part of the interpreter."""
    values: tuple[object, ...] = error.args if name == "args" else (error.obj,)
    for value in values:
        if not (_is_plain(value) or is_own(value)):
            refused(
                AttributeError(f"{name} of this error is not available in a capsule")
            )
    return error


def _is_plain(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))  # pyright: ignore[reportUnknownArgumentType]
    return value is None or isinstance(value, (str, bytes, int, float, complex))


def _is_known(target: object) -> bool:
    kind: type = target if isinstance(target, type) else type(target)
    if kind is super:
        kind = _kind_behind(target)
    known = ("numpy", "pandas", "pyarrow", "scipy", "sklearn")
    return any(base.__module__.partition(".")[0] in known for base in kind.__mro__)


def _refuse_frames(names: Iterable[str]) -> None:
    for name in FRAMES.intersection(names):
        refused(AttributeError(f"{name} is not available in a capsule"))


def _refuse_foreign(kind: type, name: str) -> None:
    if _is_foreign(kind, name):
        refused(
            AttributeError(f"{name} is private to a base class; choose another name")
        )


def _is_foreign(kind: type, name: str) -> bool:
    return any(name in _names_of(base) for base in kind.__mro__ if base not in _own)


def _names_of(kind: type) -> frozenset[str]:
    """Return the names that a foreign class has, or uses in its methods."""
    if kind not in _used:
        names = {*vars(kind)}
        for value in vars(kind).values():
            function = getattr(value, "__func__", getattr(value, "fget", value))
            code = getattr(function, "__code__", None)
            if isinstance(code, _Code):
                names.update(_names_in(code))
        _used[kind] = frozenset(names)
    return _used[kind]


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, _Code):
            yield from _names_in(constant)
