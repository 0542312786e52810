"""The import path of a callable, which has to lead to that very callable.

    path_of_callable(strict)         ("checks", "strict")
    require_path(lenient)            refused: checks:strict is another function

Rules:

- A callable says itself what its path is, and may say another's: `functools.wraps`
  copies it. So the path is followed, and what is there has to be what is called.
- A closure or a lambda has ``<locals>`` or ``<lambda>`` in its path, which leads nowhere
  and claims nothing.
- A class method is named by the class that it is called on.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from types import FunctionType, MethodType

from muniment.errors import UsageError
from muniment.programs.called.layers import own_of, stood_for

__all__ = ["path_of_callable", "require_method", "require_path"]


def path_of_callable(program: object) -> tuple[str, str]:
    """Return the module and the qualified name that *program* says it has."""
    if isinstance(program, MethodType) and isinstance(program.__self__, type):
        owner = program.__self__
        return owner.__module__, f"{owner.__qualname__}.{program.__name__}"
    module = getattr(program, "__module__", None) or type(program).__module__
    return str(module), str(getattr(program, "__qualname__", ""))


def require_path(program: object, module: str, name: str) -> None:
    """Refuse a *program* whose path leads to something else.

    Raises:
        UsageError: it does.

    """
    if not name or "<" in name:
        return
    _require_one_of([*_there(program, module, name)], program, f"{module}:{name}")


def require_method(program: object, path: str) -> None:
    """Refuse a method with the name of another one of its object.

    Raises:
        UsageError: it has.

    """
    if isinstance(program, MethodType):
        found = getattr(program.__self__, program.__name__, None)
        there = [] if found is None else [found]
        _require_one_of(there, program, path)


def _require_one_of(there: list[object], program: object, path: str) -> None:
    if any(_is(one, program) for one in there):
        return
    what = "is another function" if there else "is nothing"
    own = _place_of(own_of(program))
    raise UsageError(
        f"the function that is called has the name of another: at {path} {what}",
        rule="program/path",
        place=own or path,
        remedy="give the function that is there, or give this one a name of its own: "
        "without functools.wraps; or decorate the other where it is defined",
    )


def _is(found: object, program: object) -> bool:
    if found is program:
        return True
    if isinstance(found, MethodType) and isinstance(program, MethodType):
        return found.__self__ is program.__self__ and found.__func__ is program.__func__
    # A decorator made a step or a verifier of it.
    declared = inspect.getattr_static(type(found), "plain_function", None)
    if isinstance(declared, property):
        return getattr(found, "plain_function", None) is program
    return stood_for(found) is program


def _there(program: object, module: str, name: str) -> Iterator[object]:
    """Yield what the path leads to, if anything."""
    known, own = sys.modules.get(module), own_of(program)
    found = _member(known, name)
    if found is not None:
        yield found
    # A script that something else runs, or code of a module that was never registered.
    if isinstance(own, FunctionType) and (found is None or module == "__main__"):
        spaces = own.__globals__
        if spaces.get("__name__", "builtins") == module:
            first, _, rest = name.partition(".")
            yield from (one for one in [_member(spaces.get(first), rest)] if one)


def _member(place: object, name: str) -> object:
    """Return what is at the dotted *name* in *place*; None if there is nothing."""
    found = place
    for part in filter(None, name.split(".")):
        found = getattr(found, part, None)
    return found


def _place_of(own: object) -> str | None:
    code = getattr(own, "__code__", None) if isinstance(own, FunctionType) else None
    if code is None:
        return None
    file = inspect.getfile(code).rpartition("/")[2]
    return f"{file}:{code.co_firstlineno}"
