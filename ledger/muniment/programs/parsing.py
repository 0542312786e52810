"""Parsing Python text in a process with many threads.

    undisturbed(lambda: ast.parse(text))

Python 3.11 counts the depth of the syntax tree that it builds in one counter for all
threads. If the garbage collector runs Python code meanwhile, another thread may build a
tree: both count wrongly, and raise `SystemError` ("AST constructor recursion depth
mismatch") about a correct text.

Rule: a disturbed parse is repeated. There is no lock: other code parses as well, and a
child of a fork would wait for a thread that it does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

__all__ = ["undisturbed"]

T = TypeVar("T")

_TIMES = 100
"""This often in a row is no accident."""


def undisturbed(parse: Callable[[], T]) -> T:
    """Return the result of *parse*, even if other threads parse at the same time.

    Raises:
        Exception: whatever *parse* raises about its text.

    """
    for _ in range(_TIMES):
        try:
            return parse()
        except SystemError:
            continue
    return parse()
