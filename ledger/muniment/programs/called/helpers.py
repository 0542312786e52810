"""The modules whose code a function names, without those that are installed.

    helpers_of(check)      {"checks/words.py": "sha256:…"}     of `words.count(stage.text)`

Rules:

- Followed are the names that the function's instructions have, to the functions, classes
  and modules that its own module has under them; and so on from there.
- What is imported while a function runs, or looked up by a text, is not found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from muniment.programs.called.layers import layers_of
from muniment.programs.files import files_of
from muniment.programs.installed import is_installed

__all__ = ["helpers_of"]


def helpers_of(function: object) -> dict[str, str]:
    """Return path → digest of the files with code that *function* names."""
    waiting = [one for one in layers_of(function) if isinstance(one, FunctionType)]
    seen, places = set[int](), dict[str, str]()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        for value in _named_in(one.__code__, one.__globals__):
            place = _place_of(value)
            if place is None or is_installed(Path(place[0])):
                continue
            places[place[0]] = place[1]
            waiting += _functions_of(value)
    found: dict[str, str] = {}
    for file, module in places.items():
        found.update(files_of(Path(file).absolute(), module))
    return dict(sorted(found.items()))


def _named_in(code: CodeType, spaces: Mapping[str, object]) -> Iterator[object]:
    for name in code.co_names:
        value = spaces.get(name)
        if isinstance(value, FunctionType | type | ModuleType):
            yield value
        if isinstance(value, ModuleType):
            # `words.count`: only what is named of a module is followed.
            yield from (
                one
                for one in map(vars(value).get, code.co_names)
                if isinstance(one, FunctionType | type)
            )
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _named_in(one, spaces)


def _place_of(value: object) -> tuple[str, str] | None:
    """Return file and module of a function, a class or a module."""
    if isinstance(value, FunctionType):
        return value.__code__.co_filename, str(value.__globals__.get("__name__"))
    if isinstance(value, ModuleType):
        file = getattr(value, "__file__", None)
        return None if file is None else (file, value.__name__)
    first = next(_functions_of(value), None)
    return None if first is None else _place_of(first)


def _functions_of(value: object) -> Iterator[FunctionType]:
    if isinstance(value, FunctionType):
        yield value
    elif isinstance(value, type):
        members = (*vars(value).values(),)
        yield from (one for one in members if isinstance(one, FunctionType))
