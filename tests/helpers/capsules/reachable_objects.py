"""What can be reached from the names that a view shows, by following code.

    reached({"namedtuple": collections.namedtuple})    {"builtins.eval": "namedtuple"}

Rules: what a function loads by name, of its globals, of modules, of containers and of
classes, counts as reached; what a value does at run time is not followed. A sink opens,
starts, imports or evaluates something.
"""

from __future__ import annotations

import _io
import builtins
import ctypes
import dis
import importlib
import os
import socket
import subprocess
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

__all__ = ["reached"]

_DEPTH = 4
_SINKS: tuple[tuple[ModuleType, str], ...] = (
    (builtins, "__import__ breakpoint compile eval exec input open"),
    (_io, "FileIO open_code"),
    (
        os,
        """
        execv execve fdopen fork getenv kill listdir mkdir open popen posix_spawn putenv
        remove rename scandir system unlink
        """,
    ),
    (subprocess, "Popen check_output run"),
    (socket, "create_connection socket"),
    (importlib, "import_module"),
    (ctypes, "CDLL"),
)
_NAMES = {
    id(getattr(module, name)): f"{module.__name__}.{name}"
    for module, names in _SINKS
    for name in names.split()
    if hasattr(module, name)
}


def reached(shown: Mapping[str, object]) -> dict[str, str]:
    """Return the sinks that what is *shown* reaches, each with the name that leads there."""
    seen: set[int] = set()
    found: dict[str, str] = {}
    waiting = [(value, name, 0) for name, value in shown.items()]
    while waiting:
        value, start, depth = waiting.pop(0)
        if id(value) in _NAMES:
            found.setdefault(_NAMES[id(value)], start)
        elif id(value) not in seen and depth <= _DEPTH:
            seen.add(id(value))
            waiting += [(one, start, depth + 1) for one in _next(value)]
    return found


def _next(value: Any) -> Iterator[object]:
    if isinstance(value, staticmethod | classmethod):
        yield value.__func__
    elif isinstance(value, property):
        yield from (one for one in (value.fget, value.fset) if one)
    elif isinstance(value, FunctionType):
        yield from _loaded(value)
    elif isinstance(value, list | tuple):
        yield from value
    elif isinstance(value, type) and value.__module__ != "builtins":
        yield from vars(value).values()
        yield from value.__mro__[1:-1]
    wrapped = getattr(value, "__wrapped__", None)
    if wrapped is not None:
        yield wrapped


def _loaded(function: FunctionType) -> Iterator[object]:
    for code in _codes(function.__code__):
        last: Any = None
        for step in dis.get_instructions(code):
            name = step.argval
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                last = function.__globals__.get(name, vars(builtins).get(name))
            elif step.opname == "IMPORT_NAME":
                last = _imported(name)
            elif isinstance(last, ModuleType) and isinstance(name, str):
                last = vars(last).get(name)
            elif step.opname not in ("CACHE", "PRECALL", "PUSH_NULL"):
                last = None
            if last is not None:
                yield last


def _imported(name: str) -> object:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
