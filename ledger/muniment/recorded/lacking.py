"""What a program says that its machine lacks: modules that could not be imported.

    lacking({"error_type": "ModuleNotFoundError", "message": "No module named 'numpy'"})
        {"No module named 'numpy'"}     if this Python finds no numpy, either

Rules:

- Only errors count: an object with a ``message``. Other texts may say anything.
- That a module is not there is looked up, and nothing is imported for that. Of an import
  that failed in another way, such as one of a library that was built for another system,
  the error is all that there is.
- What failed ``elsewhere``, in another Python than this, is not looked up here.
- Whoever wrote a program may let it raise such an error. It says then what nobody can
  bring, and the replay that it prevents is no verdict at all: it never accepts.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from importlib.util import find_spec

from muniment.encoding.canonical import JsonValue
from muniment.errors import CannotTellError, MunimentError, RefusedError

__all__ = ["is_here", "lacking", "untold"]

_ABSENT = re.compile(r"No module named '?([\w.]+)'?")
_FAILED = ("ImportError", "ModuleNotFoundError")
_TYPES = ("error_type", "type")
_LONGEST = 300


def lacking(data: JsonValue) -> set[str]:
    """Return what *data* says of imports that failed, and would fail here."""
    return {said for error in _errors(data) for said in _said(error)}


def _errors(data: JsonValue) -> Iterator[dict[str, JsonValue]]:
    """Yield the objects in *data* that describe an error; however deep they are."""
    waiting = [data]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            if isinstance(one.get("message"), str):
                yield one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _said(error: dict[str, JsonValue]) -> Iterator[str]:
    message = str(error["message"])
    if error.get("elsewhere") is True:
        yield " ".join(message.split())[:_LONGEST]
        return
    named = _ABSENT.findall(message)
    for name in named:
        if not is_here(name.strip(".")):
            yield f"No module named {name.strip('.')!r}"
    if not named and any(error.get(one) in _FAILED for one in _TYPES):
        yield " ".join(message.split())[:_LONGEST]


def untold(error: MunimentError) -> MunimentError:
    """Return *error*, which is about this machine, as what a replay came to.

    One about a setting is no fault of the call: what was asked for cannot be told.
    """
    if isinstance(error, CannotTellError | RefusedError):
        return error
    return CannotTellError(
        error.message, rule=error.rule, place=error.place, remedy=error.remedy
    )


def is_here(name: str) -> bool:
    """Tell whether this Python finds the module *name*; nothing of it is run."""
    top, *below = name.split(".")
    try:
        found = sys.modules.get(top) or find_spec(top)
        spec = getattr(found, "__spec__", found)
        whole = top
        for part in below:
            whole = f"{whole}.{part}"
            if whole in sys.modules:
                spec = sys.modules[whole].__spec__
                continue
            places = getattr(spec, "submodule_search_locations", None)
            spec = None if places is None else PathFinder.find_spec(whole, places)
            if spec is None:
                return False
    except (AttributeError, ImportError, OSError, ValueError):
        return False
    return found is not None
