"""Errors that cross from one process to another, and are raised again there.

    {"message": "…", "rule": "replay/program", "place": "…", "remedy": "…", "exit_code": 3}

Rules: an error that is not ours is a bug, and reported in one line. From a report only
texts are taken, and an exit code if it is a known one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from muniment.errors import (
    CannotTellError,
    MunimentError,
    RefusedError,
    UsageError,
    WrongError,
    printable,
)

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue

__all__ = ["refusal", "said"]

_NAMES = ("message", "rule", "place", "remedy")
_LONGEST = 4000


def said(error: Exception) -> dict[str, JsonValue]:
    """Return *error* as JSON."""
    if isinstance(error, MunimentError):
        known: dict[str, JsonValue] = {name: getattr(error, name) for name in _NAMES}
        machine = error.is_of_machine
        return {**known, "exit_code": error.exit_code, "is_of_machine": machine}
    return {
        "message": f"{type(error).__name__}: {printable(error)}",
        "rule": "cli/bug",
        "place": "the process that replays",
        "remedy": "this is a bug in muniment",
        "exit_code": 3,
    }


def refusal(told: Mapping[str, object]) -> MunimentError:
    """Return the error from which `said` made *told*; by default *cannot tell*."""
    kinds: dict[object, type[MunimentError]] = {
        1: WrongError,
        2: UsageError,
        4: RefusedError,
    }
    message, rule, place, remedy = (str(told.get(n, ""))[:_LONGEST] for n in _NAMES)
    kind = kinds.get(told.get("exit_code"), CannotTellError)
    error = kind(message, rule=rule, place=place, remedy=remedy)
    error.is_of_machine |= told.get("is_of_machine") is True
    return error
