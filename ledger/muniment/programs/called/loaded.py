"""Whether code that is loaded is what its file says.

    is_stale(check)      True    if its file was edited after it was imported

Rules:

- A file may be edited while a process runs the code that it had before: then the text in
  it is not that of the code. Compared are the function and the functions of its module
  that it names, and those that they name.
- Compared is what Python compiles; code of importers that rewrite it, as pytest does with
  assertions, is taken at its word.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType

from muniment.programs.parsing import undisturbed
from muniment.programs.read_modules import LOADERS

__all__ = ["is_stale"]

_PLAIN = (SourceFileLoader, *LOADERS)
_compiled: dict[str, tuple[bytes, frozenset[CodeType]]] = {}


def is_stale(function: FunctionType) -> bool:
    """Tell whether the file of *function* has other code than what is loaded."""
    spaces = function.__globals__
    module = sys.modules.get(str(spaces.get("__name__")))
    if module is None or vars(module) is not spaces:
        return False
    file = function.__code__.co_filename
    plain = type(getattr(module, "__loader__", None)) in _PLAIN
    if not plain or getattr(module, "__file__", None) != file:
        return False
    try:
        known = _codes_in(file)
    except (OSError, SyntaxError, ValueError):
        return True
    return any(code not in known for code in _reached(function, file))


def _codes_in(file: str) -> frozenset[CodeType]:
    data = Path(file).read_bytes()
    before, codes = _compiled.get(file, (None, frozenset[CodeType]()))
    if before != data:
        whole = undisturbed(lambda: compile(data, file, "exec", dont_inherit=True))
        codes = frozenset(_with_inner(whole))
        _compiled[file] = data, codes
    return codes


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _with_inner(one)


def _reached(function: FunctionType, file: str) -> Iterator[CodeType]:
    """Yield the code of *function*, and of what it names in its own file."""
    spaces, seen = function.__globals__, set[str]()
    waiting = [function.__code__]
    while waiting:
        code = waiting.pop()
        if code.co_filename != file:
            continue
        yield code
        names = {name for one in _with_inner(code) for name in one.co_names} - seen
        seen |= names
        for name in names:
            waiting += _code_of(spaces.get(name))


def _code_of(value: object) -> Iterator[CodeType]:
    if isinstance(value, FunctionType):
        yield value.__code__
    elif isinstance(value, type):
        for one in (*vars(value).values(),):
            if isinstance(one, FunctionType):
                yield one.__code__
