"""Refuses a program while it runs: at once, past all its own handlers.

    refused(AttributeError("__class__ is not available in a capsule"))

Rules:

- In a child, a refusal ends the program: it cannot be caught, so that no program
  continues to another answer than plain Python gives.
- So does a limit: memory, recursion, or a denial by an isolation layer. `settle` checks
  every error that reaches a handler, and its causes.
- An error that a program raises itself is not a limit, whatever its class: no program
  ever holds a limit's error, so none can raise it again.
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
"""Errors that a limit or the system raises."""

_DENIED = frozenset((1, 13, 23, 24, 30, 38))
"""Errors by which layers deny: EPERM, EACCES, ENFILE, EMFILE, EROFS, ENOSYS."""

_RAISED = "@raised"
"""Marks an error that a program raised; no program can write the name."""

_ends: list[End] = []


def end_with(end: End) -> None:
    """Let *end* be called with the error, and whether it is a refusal."""
    _ends[:] = [end]


def refused(error: Exception) -> NoReturn:
    """End the program with *error*."""
    for end in _ends:
        end(error, True)
    raise error


def settle() -> None:
    """End the program if the current error, or one of its causes, is a limit's."""
    error = sys.exc_info()[1]
    for _ in range(sys.getrecursionlimit()):
        if error is None:
            return
        if _is_limit(error):
            for end in _ends:
                end(error, False)
        error = error.__cause__ or error.__context__


def raised(error: Any) -> Any:
    """Return the *error* that a program raises, marked if limits raise its class."""
    if isinstance(error, type) and issubclass(error, LIMITS):
        error = error()
    if isinstance(error, LIMITS):
        vars(error)[_RAISED] = True
    return error  # pyright: ignore[reportUnknownVariableType] - whatever it raises


def is_raised(error: BaseException) -> bool:
    """Tell whether the program raised *error* itself."""
    try:
        return _RAISED in vars(error)
    except MemoryError:  # then this error is a limit's too
        return False


def _is_limit(error: BaseException) -> bool:
    """Distinguish a limit from an error that a program raised itself."""
    if is_raised(error):
        return False
    if isinstance(error, OSError):
        return error.errno in _DENIED
    return isinstance(error, LIMITS)
