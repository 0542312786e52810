"""How a program is refused while it runs: at once, and past every handler of its own.

    refused(AttributeError("__class__ is not available in a capsule"))

Rules:

- In a child that runs a program a refusal is its end: what is refused cannot be caught,
  so that no program goes on to another answer than plain Python gives.
- So are the limits: memory, recursion, and what a wall denied. `settle` looks at
  every error that reaches a handler, with what it came from.
- What a program raises itself is no limit, whatever its class: no program has the error
  of a limit in its hands, so none can raise it anew.
- Elsewhere, as in the tests of the guard, the refusal is raised.

Runs in the child; imports nothing that the program did not ask for.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # typing itself costs more than a bare interpreter's start
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    End = Callable[[BaseException, bool], None]

__all__ = ["LIMITS", "end_with", "is_raised", "raised", "refused", "settle"]

LIMITS = (MemoryError, RecursionError, OSError)
"""What a limit or the system raises."""

_DENIED = frozenset((1, 13, 23, 24, 30, 38))
"""What walls answer: EPERM, EACCES, ENFILE, EMFILE, EROFS, ENOSYS."""

_RAISED = "@raised"
"""What is noted of an error that a program raises; no program can write the name."""

_ends: list[End] = []


def end_with(end: End) -> None:
    """Have *end* called with the error, and whether it is a refusal."""
    _ends[:] = [end]


def refused(error: Exception) -> NoReturn:
    """End the program for what *error* says."""
    for end in _ends:
        end(error, True)
    raise error


def settle() -> None:
    """End the program if the error at hand, or what it came from, is a limit's."""
    error = sys.exc_info()[1]
    for _ in range(sys.getrecursionlimit()):
        if error is None:
            return
        if _is_limit(error):
            for end in _ends:
                end(error, False)
        error = error.__cause__ or error.__context__


def raised(error: Any) -> Any:
    """Return what a program raises, noted as its own if limits raise the like."""
    if isinstance(error, type) and issubclass(error, LIMITS):
        error = error()
    if isinstance(error, LIMITS):
        vars(error)[_RAISED] = True
    return error  # pyright: ignore[reportUnknownVariableType] - whatever it raises


def is_raised(error: BaseException) -> bool:
    """Tell whether *error* is of a ``raise`` of the program's."""
    try:
        return _RAISED in vars(error)
    except MemoryError:  # then this one is of a limit, too
        return False


def _is_limit(error: BaseException) -> bool:
    """Tell a limit from an error that a program raised itself."""
    if is_raised(error):
        return False
    if isinstance(error, OSError):
        return error.errno in _DENIED
    return isinstance(error, LIMITS)
