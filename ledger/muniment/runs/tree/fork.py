"""Runs that follow another run's record up to one event, then go their own way.

    muniment fork 01JC… --at 12 --set 9=answer.json
    run.started  {"fork": {"run": "01JC…", "at": 12, "leaf": …, "changes": […]}, …}

Rules:

- The other run's rows are verified, and the answers read, before anything is written and
  before the program is called.
- A fork has the seed, params, name, labels and tenant of its origin, so its program asks
  the same. What it draws after the event equals what the origin drew there.
- A change names an outcome by its event number. The outcome must be at or before the
  event, the last of its effect there, and outside performers and plugins' lanes: otherwise
  nobody would ask for it.
- Answers with secrets, which are in no record, and answers that the program stopped
  waiting for, cannot be given to a live program.
- People signed their decisions for the run that asked: a fork asks them anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from muniment.encoding.codec import decode, settle
from muniment.errors import CannotTellError, RefusedError, UsageError
from muniment.formats.decisions import REACHED
from muniment.formats.statement import Event, Subject
from muniment.programs.functions import Program
from muniment.programs.references import require_ready
from muniment.recorded.compare import is_compared
from muniment.recorded.items import Item
from muniment.recorded.origin import ForkedFrom, Origin
from muniment.runs.execution import refuse_async
from muniment.runs.modes.fork import Fork
from muniment.runs.recording import Recording
from muniment.runs.resume import (
    functions_of,
    params_of,
    program_of,
    reading_of,
    require_labellers,
    require_pinned,
    require_types,
    verified_events,
)

if TYPE_CHECKING:
    from muniment.ledger_reads import LedgerReads

__all__ = ["Forking"]


@dataclass(frozen=True, slots=True)
class Forking:
    """A fork that has begun, and what it needs to continue."""

    recording: Recording
    program: Program
    params: Mapping[str, object]

    @classmethod
    def begin(
        cls,
        ledger: LedgerReads,
        run: str,
        at: int,
        changes: Mapping[int, object],
        program: Program | None,
        awaits: bool = False,
    ) -> Forking:
        """Write the start of a fork of *run*, or raise with nothing written."""
        if program is None:
            require_pinned(ledger, run, "fork")
        events, port = verified_events(ledger, run), ledger.port
        told = _told(events, run, at, changes)
        values = cast(
            "list[object]",
            settle([changes[seq] for seq, _ in told.changes], port.values),
        )
        origin = Origin(events, told, values, reading_of(ledger))
        started = events[0]
        require_types(ledger, origin.record, run)
        require_labellers(ledger, started)
        _require_answers(ledger, origin)
        chosen = program_of(ledger, run, started, program, act=f"fork --at {at}")
        values = _changed(ledger, origin, chosen)
        if not awaits:
            refuse_async(chosen)
        params = params_of(ledger, started)
        require_ready(chosen, params, functions_of(started))

        def of(_: Recording, fields: dict[str, object]) -> tuple[Subject, ...]:
            fields["fork"], fields["changed"] = told.to_json(), values or None
            return (told.subject,)

        settled, recording = port.start(
            chosen,
            params,
            cast("str", started.raw["name"]),
            cast("Mapping[str, str]", started.raw.get("labels", {})),
            started.tenant,
            Fork(origin),
            cast("str", started.raw["seed"]),
            of=of,
            origin=(run, at),
            inherited=cast("Mapping[str, str]", started.raw.get("labelled") or {}),
        )
        return cls(recording, chosen, settled)


def _told(
    events: list[Event], run: str, at: int, changes: Mapping[int, object]
) -> ForkedFrom:
    """Return what the fork says about its origin."""
    leaves = {event.seq: event.hash for event in events}
    if at not in leaves:
        first, last = events[0].seq, events[-1].seq
        raise UsageError(
            f"event {at} is not of this run, which has events from {first} to {last}",
            rule="fork/at",
            place=f"run {run}",
            remedy=f"`muniment runs show {run}` lists them",
        )
    for seq in changes:
        if seq not in leaves or seq > at:
            raise _unchangeable(run, seq, f"is not of this run, or comes after {at}")
    named = tuple((seq, leaves[seq]) for seq in sorted(changes))
    return ForkedFrom(run, at, leaves[at], named)


def _changed(ledger: LedgerReads, origin: Origin, program: Program) -> list[object]:
    """Return the changed values, as the outcomes of *program* are recorded.

    Raises:
        UsageError: nobody asks for one of them, or it cannot be such an outcome.
        RefusedError: its kind refuses one.

    """
    items = {outcome.seq: item for item, outcome in _answered(origin)}
    spell = getattr(program, "changed_outcome", None)
    found: dict[int, object] = {}
    for seq, value in origin.values.items():
        item = items.get(seq)
        if item is None:
            what = "is not the last outcome of an effect that the program asked for"
            raise _unchangeable(origin.told.run, seq, what)
        kind, known = ledger.port.kind(item.kind), value
        request: object = None
        if spell is not None or kind.fault is not None:
            request = decode(origin.record.content(item.event, "request"))
        if spell is not None:
            known = spell(kind.name, request, value)
        kind.check_response(known)
        if (wrong := kind.fault_of(request, known)) is not None:
            raise _misfit(origin.told.run, seq, kind.name, wrong)
        found[seq] = known
    settled = cast("list[object]", settle([*found.values()], ledger.port.values))
    origin.values = dict(zip(found, settled, strict=True))
    return settled


def _answered(origin: Origin) -> list[tuple[Item, Event]]:
    """Return the effects of the program that have an outcome, with the outcome."""
    return [
        (item, item.outcome)
        for name, scope in origin.record.scopes.items()
        if is_compared(name)
        for item in scope.items
        if item.kind and item.outcome is not None
    ]


def _require_answers(ledger: LedgerReads, origin: Origin) -> None:
    """Read all answers; refuse those that cannot be given.

    Raises:
        CannotTellError: content is gone, or the program stopped waiting for an answer.
        RefusedError: an answer had secrets, which are in no record; or people decided.

    """
    for event in origin.record.events:
        if event.type == REACHED:
            raise RefusedError(
                f"people decided event {event.seq} for the run that asked them, and not "
                "for another one",
                rule="fork/decision",
                place=f"run {origin.told.run}, event {event.seq}",
                remedy="fork at an event before it: the fork asks them anew",
            )
    for item, outcome in _answered(origin):
        if outcome.seq in origin.values:
            continue
        data, kind = origin.record.data(outcome), ledger.port.kind(item.kind)
        place = f"run {origin.told.run}, event {outcome.seq}"
        before = f"fork at an event before {item.event.seq}"
        if kind.holds_secret(data):
            raise RefusedError(
                f"the {kind.name} effect answered a secret, which is in no record",
                rule="fork/secret",
                place=place,
                remedy=before,
            )
        if outcome.type.endswith(".completed"):
            value = decode(origin.record.content(outcome, "value"), ledger.port.values)
            kind.check_response(value)
        if item.cancelled and not origin.record.was_cut_off(item):
            raise CannotTellError(
                f"the program stopped waiting for the {kind.name} effect, and what it "
                "would do without an answer at once is not known",
                rule="fork/cancelled",
                place=place,
                remedy=before,
            )


def _unchangeable(run: str, seq: int, what: str) -> UsageError:
    return UsageError(
        f"event {seq} cannot be changed: it {what}",
        rule="fork/change",
        place=f"run {run}",
        remedy="name the event of an outcome: `muniment events --run "
        f"{run} --type '*.completed'` lists those with a value",
    )


def _misfit(run: str, seq: int, kind: str, wrong: str) -> UsageError:
    return UsageError(
        f"event {seq} cannot be changed to that: {wrong}",
        rule="fork/change",
        place=f"run {run}, {kind}",
        remedy=f"give a value of the form that `muniment events show {seq}` prints",
    )
