"""Holding what a stage asked for against a fixture: its calls of tools, and its effects.

Rules:

- They are compared one by one, in their order, if the fixture has them (`checks.calls`).
- What a fixture does not say of one, its arguments or its request, may be anything.
"""

from __future__ import annotations

from collections.abc import Iterator

from muniment_plugins.evals.checks.calls import is_beyond, of_calls
from muniment_plugins.evals.checks.rows import Held
from muniment_plugins.evals.checks.unsealing import NOT_HERE, unsealed
from muniment_plugins.evals.views.rows import Row
from muniment_plugins.evals.views.sealed import PRIVATE

__all__ = ["held_requests"]

_SHOWN = 5
"""More changed calls of one stage say no more."""


def held_requests(one: Row, stage: Row, opened: Row, *, alike: bool) -> Iterator[Held]:
    """Yield what holds of the calls of tools, and of the other effects, of *stage*."""
    for check, what in (("calls", "arguments"), ("effects", "request")):
        said = one.get(f"expected_{check}")
        if said is None:
            continue
        wanted = _opened_rows(said, opened.get(check), what, alike)
        there = _asked_for(wanted, stage.get(check), what)
        yield from _asked(stage["id"], check, wanted, there)


def _opened_rows(
    wanted: list[Row], known: list[Row] | None, what: str, alike: bool
) -> list[Row]:
    """Return *wanted* with what is *known* of what it only calls private."""
    if known is not None and len(known) == len(wanted):
        wanted = [unsealed(*both) for both in zip(wanted, known, strict=True)]
    return wanted if alike else [{**row, what: None} for row in wanted]


def _asked(
    name: str, check: str, wanted: list[Row], there: list[Row] | None
) -> Iterator[Held]:
    """Yield what holds of what a stage asked for: the calls, or the effects."""
    changes, unknown = of_calls(wanted, there, check[:-1])
    sealed = any(PRIVATE in row.values() for row in wanted)
    if sealed:
        yield Held(check, None, f"{name}: {check}: {NOT_HERE}", name)
    elif unknown:
        what = "called" if check == "calls" else "asked for"
        says = f"{name}: what it {what} is private, is not known, or was erased"
        yield Held(check, None, says, name)
    if changes and not sealed:
        says = f"{name}: {'; '.join(changes[:_SHOWN])}"
        final = is_beyond(wanted, there)
        yield Held(check, False, says, name, final=final)
    elif not unknown and not sealed and (wanted or check == "calls"):
        yield Held(check, True, f"{name}: it asked for the same", name)


def _asked_for(
    wanted: list[Row], rows: list[Row] | None, what: str
) -> list[Row] | None:
    """Return *rows* without *what* was asked in those of which *wanted* does not say it."""
    if rows is None:
        return None
    free = [number for number, one in enumerate(wanted) if what not in one]
    return [
        {name: value for name, value in one.items() if name != what}
        if number in free
        else one
        for number, one in enumerate(rows)
    ]
