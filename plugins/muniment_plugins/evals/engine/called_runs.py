"""Which run a run called where: by the scope of the call, never by ids of runs.

    called_runs(ledger, run, events)     [("h.1", "01JD…"), ("h.1#2", "01JE…")]

Rules:

- Two runs that did the same called in the same places. Calls in one scope are numbered in
  their order, from the second on.
- A program that calls in no scope of its own calls in ``run``.
- A call that ended names its run. One that has not is the first before the run began that
  was given the same; of a run that nobody is known to have called the place is ``?``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from muniment.formats.statement import Event
from muniment_plugins.evals.views.rows import Row, as_row
from muniment_plugins.workflow.records.contents import Contents

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["called_runs"]

_UNKNOWN = "?"
_ITSELF = "run"
"""What the scope of a whole run is called."""


def called_runs(
    ledger: Ledger, run: str, events: Sequence[Event]
) -> list[tuple[str, str]]:
    """Return the calls of *run*, whose *events* are verified, each with the run it called."""
    calls = _calls(events)
    named = {one["run"] for one in calls if "run" in one}
    contents = Contents(ledger)
    loose: list[Row] = []
    for child in ledger.children(run):
        if child in named:
            continue
        started = next(ledger.events(run=child, limit=1))
        call = _meant(contents, calls, started)
        if call is None:
            loose.append({"scope": _UNKNOWN, "run": child})
        else:
            call["run"] = child
    numbers: dict[str, int] = {}
    found: dict[str, str] = {}
    for one in [*calls, *loose]:
        if "run" in one and one["run"] not in found:
            number = numbers[one["scope"]] = numbers.get(one["scope"], 0) + 1
            found[one["run"]] = one["scope"] + (f"#{number}" if number > 1 else "")
    return [(place, called) for called, place in found.items()]


def _calls(events: Sequence[Event]) -> list[Row]:
    """Return the calls in their order, with the runs that their ends name."""
    found: dict[tuple[str, int | None], Row] = {}
    for one in events:
        kind, _, verb = one.type.rpartition(".")
        if kind != "child":
            continue
        place = (one.scope or "", one.ordinal)
        if verb == "requested":
            row: Row = {"scope": place[0] or _ITSELF, "seq": one.seq, "asked": one}
            found.setdefault(place, row)
        elif place in found:
            for name in ("about", "data"):
                run = as_row(one.raw.get(name)).get("run")
                if isinstance(run, str):
                    found[place]["run"] = run
    return [*found.values()]


def _meant(contents: Contents, calls: list[Row], started: Event) -> Row | None:
    """Return the first call without a run that could have *started* this one."""
    given: Any = contents.of(started.raw.get("params"))
    for one in calls:
        if "run" not in one and one["seq"] < started.seq:
            said = as_row(contents.of(one["asked"].raw.get("request")))
            if said.get("params") == given:
                return one
    return None
