"""Checks what a capsule is asked to run before any of it runs.

    require_text(b"def f(): …", "code")   UsageError: it is bytes, not text
    pairs_of([(code, data), (code,)])     UsageError at run_many[1]

Rule: a caller's mistake is found before the first program runs, wherever in the batch it
is; a program's own mistake is reported by its execution.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import cast

from muniment.errors import UsageError

__all__ = ["pairs_of", "require_text", "threads_for"]

_PAIR = 2


def require_text(code: object, place: str) -> str:
    """Return *code*, which was given at *place*.

    Raises:
        UsageError: it is not text (rule ``capsule/code``).

    """
    if isinstance(code, str):
        return code
    raise UsageError(
        f"it is {type(code).__name__}, not text",
        rule="capsule/code",
        place=place,
        remedy="pass the program's source as a str",
    )


def pairs_of(programs: Iterable[object]) -> list[tuple[str, object]]:
    """Return *programs* as pairs of code and data.

    Raises:
        UsageError: one is not a pair (rule ``capsule/batch``), or its code not text.

    """
    return [_pair_of(one, place) for place, one in enumerate(programs)]


def _pair_of(one: object, place: int) -> tuple[str, object]:
    kind = type(one).__name__
    if not isinstance(one, tuple | list):
        raise _refusal(f"it is {kind}, not a pair of code and data", place)
    items = cast("Sequence[object]", one)
    if len(items) != _PAIR:
        raise _refusal(f"it is a {kind} of {len(items)}, not of code and data", place)
    code, data = items
    return require_text(code, f"run_many[{place}].code"), data


def _refusal(message: str, place: int) -> UsageError:
    return UsageError(
        message,
        rule="capsule/batch",
        place=f"run_many[{place}]",
        remedy="pass (code, data) for each program; data may be None",
    )


def threads_for(workers: object) -> int:
    """Return how many programs run in parallel.

    Raises:
        UsageError: *workers* is neither None nor a whole number, 1 or more.

    """
    if workers is None:
        return os.cpu_count() or 1
    # True is an int too.
    if type(workers) is not int or workers < 1:
        raise UsageError(
            f"workers is {workers!r}, not a whole number from 1 on",
            rule="capsule/workers",
            place="run_many",
            remedy="pass how many programs may run side by side, or leave it out",
        )
    return workers
