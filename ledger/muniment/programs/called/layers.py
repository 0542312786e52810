"""The code that runs when a callable is called: its own, and what it wraps.

    layers_of(checked)      [checked, strict]     of @wraps(strict) def checked(stage)

Rules:

- A callable is what it is made of, never what it says of itself: ``__wrapped__`` adds to
  its code, and replaces nothing.
- It wraps what ``__wrapped__`` names, the function of a partial, the functions that its
  closure holds, and the implementations of a generic function.
- Code of Python and of installed packages is named, not read: its version identifies it.
- Code without a text (``exec``, ``python -c``, bytecode alone) has a digest of its
  instructions, which holds for one version of Python.
- What else a callable holds, such as the arguments of a partial or the limit in a
  closure, is a value, and not told apart.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Iterator, Mapping
from importlib.machinery import SourcelessFileLoader
from pathlib import Path
from types import CodeType, FunctionType, MethodType
from typing import cast

from muniment.encoding.canonical import sha256_tag
from muniment.programs.installed import is_installed
from muniment.programs.source_text import source_of

__all__ = [
    "code_digest",
    "code_in",
    "entry_of",
    "file_of",
    "instructions_of",
    "kinds_of",
    "layers_of",
    "module_of",
    "own_of",
    "stood_for",
    "text_of",
    "wrapping_text",
]

_CACHE = type(functools.lru_cache(print))
_HOLDS_CODE = (FunctionType, MethodType, functools.partial, _CACHE)
_BETWEEN = "# which wraps\n"


def own_of(program: object) -> object:
    """Return what has the code of *program*: for a bound method, its function."""
    return program.__func__ if isinstance(program, MethodType) else program


def stood_for(function: object) -> object:
    """Return the function that *function* stands for, by ``plain_function``, or itself.

    Only one that it wraps: else anybody's attribute would decide what is called.
    """
    if type(function) is FunctionType and "plain_function" not in vars(function):
        return function  # as nearly all: the rest is slow, and each call of one asks
    plain = inspect.getattr_static(function, "plain_function", None)
    wrapped = inspect.getattr_static(function, "__wrapped__", None)
    return function if plain is None or plain is not wrapped else plain


def layers_of(program: object) -> list[object]:
    """Return what has the code that runs when *program* is called, the outermost first."""
    found: list[object] = []
    entry, owner = entry_of(program), _owner_of(program)
    waiting = [owner, entry] if _is_foreign(entry, owner) else [program]
    while waiting:
        one = own_of(waiting.pop(0))
        if not any(one is known for known in found):
            found.append(one)
            waiting += _inside(one)
    return found


def entry_of(program: object) -> object:
    """Return what a call of *program* enters: of an object, its class's ``__call__``."""
    own = own_of(program)
    if isinstance(own, FunctionType | type):
        return own
    return inspect.getattr_static(type(own), "__call__", own)


def _owner_of(program: object) -> object:
    return program.__self__ if isinstance(program, MethodType) else program


def _is_foreign(entry: object, owner: object) -> bool:
    """Tell whether an object calls a function that is not in the text of its class."""
    if not isinstance(entry, FunctionType) or entry is owner or isinstance(owner, type):
        return False
    code = entry.__code__
    names = {f"{one.__qualname__}.{code.co_name}" for one in kinds_of(owner)}
    return code.co_qualname not in names or module_of(entry) not in {
        one.__module__ for one in kinds_of(owner)
    }


def _inside(one: object) -> Iterator[object]:
    if isinstance(one, FunctionType):
        yield from filter(_holds_code, _held_by(one))
    yield from _of_partial(one)
    wrapped = inspect.getattr_static(one, "__wrapped__", None)
    if callable(wrapped) and not isinstance(one, type):
        yield wrapped
    members: object = getattr(one, "__dict__", None) if _is_generic(one) else None
    if isinstance(members, Mapping):
        registry = cast("Mapping[str, Mapping[type, object]]", members)["registry"]
        yield from sorted(registry.values(), key=_sorting)


def _of_partial(one: object) -> Iterator[object]:
    if isinstance(one, functools.partial):
        yield cast("functools.partial[object]", one).func


def _held_by(function: FunctionType) -> Iterator[object]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # it is assigned later
            continue


def _holds_code(value: object) -> bool:
    return isinstance(value, _HOLDS_CODE)


def _is_generic(one: object) -> bool:
    """Tell whether *one* is made by `functools.singledispatch`."""
    return (
        isinstance(one, FunctionType) and {"registry", "dispatch"} <= vars(one).keys()
    )


def _sorting(one: object) -> str:
    return f"{getattr(one, '__module__', '')}:{getattr(one, '__qualname__', '')}"


def code_in(program: object) -> tuple[tuple[FunctionType, CodeType], ...]:
    """Return the functions in *program*, and the instructions that each has now."""
    layers = [*layers_of(program), entry_of(program)]
    functions = (one for one in layers if isinstance(one, FunctionType))
    return tuple((one, one.__code__) for one in functions)


def file_of(layer: object) -> Path | None:
    """Return the file with the code of a layer itself; None if there is none."""
    try:
        return Path(inspect.getfile(_readable(layer))).absolute()
    except (OSError, TypeError):
        return None


def kinds_of(layer: object) -> list[type]:
    """Return the class of a layer that is no function, and the classes above it."""
    return list((layer if isinstance(layer, type) else type(layer)).__mro__)


def module_of(layer: object) -> str:
    """Return the name of the module whose code a layer is."""
    if isinstance(layer, FunctionType):
        return str(layer.__globals__.get("__name__"))
    return (layer if isinstance(layer, type) else type(layer)).__module__


def _readable(layer: object) -> type | CodeType:
    """Return what `inspect` reads without following what *layer* says of itself."""
    if isinstance(layer, FunctionType):
        return layer.__code__
    return layer if isinstance(layer, type) else type(layer)


def text_of(layer: object) -> str | None:
    """Return the text of a layer's own code, or None if there is none."""
    thing = _readable(layer)
    if _without_text(layer):
        return None
    try:
        return source_of(thing)
    except (OSError, TypeError):
        return None


def _without_text(layer: object) -> bool:
    """Tell whether *layer* comes from bytecode alone: a text beside it is another's."""
    if not isinstance(layer, FunctionType):
        return False
    module = sys.modules.get(str(layer.__globals__.get("__name__")))
    return isinstance(getattr(module, "__loader__", None), SourcelessFileLoader)


def instructions_of(layer: object) -> str | None:
    """Return the digest of a layer's instructions, if it is a function."""
    return code_digest(layer.__code__) if isinstance(layer, FunctionType) else None


def code_digest(code: CodeType) -> str:
    """Return the digest of instructions, which holds for this version of Python."""
    return sha256_tag("\n".join(_told(code)).encode())


def _told(code: CodeType) -> Iterator[str]:
    yield f"{sys.implementation.cache_tag} {code.co_qualname} {code.co_flags}"
    yield code.co_code.hex()
    yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars))
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _told(one)
        else:
            # A set has no order of its own.
            known = (
                sorted(map(repr, cast("frozenset[object]", one)))
                if isinstance(one, frozenset)
                else one
            )
            yield repr(known)


def wrapping_text(layers: list[object], first: str | None) -> str:
    """Return the text of all *layers*; *first* is that of the outermost, if it is known."""
    texts = [first or _named(layers[0]), *map(_named, layers[1:])]
    return _BETWEEN.join(text if text.endswith("\n") else f"{text}\n" for text in texts)


def _named(layer: object) -> str:
    """Return the text of a layer; of installed code, its name."""
    file = file_of(layer)
    if file is None or is_installed(file):
        return f"# {_path_of(layer)}"
    return text_of(layer) or f"# {instructions_of(layer) or _path_of(layer)}"


def _path_of(layer: object) -> str:
    if isinstance(layer, FunctionType):
        return f"{layer.__globals__.get('__name__')}:{layer.__code__.co_qualname}"
    kind = layer if isinstance(layer, type) or inspect.isbuiltin(layer) else type(layer)
    return f"{kind.__module__}:{kind.__qualname__}"
