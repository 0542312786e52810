"""The class and the reason code of a failure in words, and the marks of a run.

    reason      budget_exhausted, of the class authority
    caused by   event 41, budget.exhausted in scope "plugin/governance"
    budget      policy, max_count: 3 of 3 effects are spent
    to do       have its policy amended by those who may, or start a new run

Rules:

- What a code means stands in one table, which the reference prints; an explanation adds
  what the events of this run say.
- Whoever is told the status of a run is told its marks, each with its first reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from muniment.formats.lifecycle import BEGINNINGS, LIFE, MARKED
from muniment_cli.views.event_view import short, visible

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger
    from muniment_cli.terminal.output import Cell
    from muniment_plugins.governance.failures.reading import RunFailure

__all__ = [
    "classed",
    "marked_rows",
    "marked_words",
    "marks_json",
    "marks_of",
    "reason_facts",
    "run_marks",
]

_WIDTH = 300


def classed(ledger: Ledger, events: list[Event]) -> RunFailure | None:
    """Return the failure of the run with these *events*, if it has one."""
    from muniment.runs.owner import is_alive
    from muniment_plugins.governance.failures.reading import failure_of

    last = next((one for one in reversed(events) if one.type in LIFE), events[0])
    alive: bool | None = False
    if last.type in BEGINNINGS:
        alive = is_alive(cast("dict[str, JsonValue]", last.raw.get("owner", {})))
    return failure_of(ledger, events, alive=alive)


def reason_facts(
    ledger: Ledger, events: list[Event], failure: RunFailure
) -> list[tuple[str, str]]:
    """Return the facts about a failure: its reason, its event, and what to do."""
    code = failure.code
    cause = next((one for one in events if one.seq == failure.event), None)
    own = cause is not None
    cause = cause or ledger.event(failure.event)
    called = "" if own else f" of run {failure.run}, which it called"
    scope = f' in scope "{cause.scope}"' if cause.scope else ""
    facts = [
        ("reason", f"{code.code}, of the class {code.failure_class}"),
        ("means", code.means),
        ("caused by", f"event {cause.seq}{called}, {cause.type}{scope}"),
    ]
    if cause.type == "budget.exhausted":
        facts.append(("budget", _limit(visible(ledger, cause))))
    again = "may help" if code.retry else "does not help"
    facts.append(("to do", code.remedy))
    facts.append(("as it is", f"trying again {again}"))
    return facts


def _limit(told: dict[str, JsonValue]) -> str:
    """Say whose limit was reached, and how much of it was spent."""
    whose, limit = told.get("budget"), told.get("limit")
    return f"{whose}, {limit}: {short(told.get('detail'), _WIDTH)}"


def marks_of(ledger: Ledger, events: Iterable[Event]) -> list[tuple[str, str]]:
    """Return what a run was marked with, and why: each mark with its first reason."""
    found: dict[str, str] = {}
    for event in events:
        if event.type == MARKED:
            told = visible(ledger, event)
            found.setdefault(str(told.get("mark")), short(told.get("reason"), _WIDTH))
    return list(found.items())


def run_marks(ledger: Ledger, run: str) -> list[tuple[str, str]]:
    """Return the same of *run*, by its events."""
    return marks_of(ledger, ledger.events(run=run, type=MARKED))


def marks_json(marks: Iterable[tuple[str, str]]) -> list[JsonValue]:
    """Return *marks* as every document with the status of a run has them."""
    return [{"mark": mark, "reason": why} for mark, why in marks]


def marked_rows(marks: Iterable[tuple[str, str]]) -> list[tuple[str, Cell]]:
    """Return a row for each of *marks*, to stand below the status."""
    return [("marked", (f"{mark}: {why}", "bold yellow")) for mark, why in marks]


def marked_words(marks: Iterable[tuple[str, str]]) -> str:
    """Return *marks* as words behind a status on its line; empty without any."""
    return "".join(f", marked {mark}: {why}" for mark, why in marks)
