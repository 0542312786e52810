"""Claiming a session for a run: one writer at a time, decided by the ledger.

Rules:

- A claim is an event of the session that counts the events before it: of two runs that
  claim at once one has it. The other is refused, or writes a fork, as it asked.
- A run claims a session once. What it reads of it is the effect's answer, so a replay
  reads no session, and a fork of the run begins where the run began.
- A fork of a run never writes to the session: its part is a session of its own,
  ``<id>@<run>``. It begins with what its origin was answered; where that never asked, with
  what the session was at the event at which the fork begins.
- The runs that a fork calls have one session together, ``<id>~<fork>``, which begins with
  what those of the origin began with that were not complete at that event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from muniment.errors import RefusedError
from muniment.formats.lifecycle import COMPLETED
from muniment_plugins.workflow.session_types import part_series, session_series
from muniment_plugins.workflow.sessions.contents import message_of
from muniment_plugins.workflow.sessions.outside import (
    Rows,
    append,
    held_by,
    opened_rows,
    released_rows,
    require_name,
    require_series,
)
from muniment_plugins.workflow.sessions.streams import (
    count_of,
    folded,
    holder_of,
    is_session,
    steps_of,
)
from muniment_plugins.workflow.sessions.transcript import Transcript, TranscriptEntry

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["Held", "answered", "claimed", "transcript_of"]

Held = Literal["refuse", "fork"]
"""What is done if another run has the session."""
_ATTEMPTS = 5
_Data = Mapping[str, Any]


def claimed(ledger: Ledger, run: str, session: str, held: Held) -> dict[str, Any]:
    """Claim *session* for *run*, opening it if it is not there; return what it is.

    Raises:
        RefusedError: another run has it, or took it meanwhile.
        UsageError: no session can be called so.

    """
    require_name(session)
    require_series(ledger)
    name = f"{session}@{run}"
    if is_session(ledger, name):
        return answered(ledger, session, folded(ledger, name))
    fork = _fork_around(ledger, run)
    if fork is not None and fork.run == run:
        return _begun_in_fork(ledger, fork, session, held)
    for attempt in range(_ATTEMPTS):
        try:
            if fork is None:
                return _claimed_once(ledger, run, session, held)
            return _claimed_below(ledger, fork, run, session, held)
        except RefusedError as error:
            last = attempt == _ATTEMPTS - 1
            if error.rule != "session/written-meanwhile" or last:
                raise
    raise AssertionError("the last attempt returns or raises")


def _claimed_once(ledger: Ledger, run: str, session: str, held: Held) -> dict[str, Any]:
    counted = count_of(ledger, session_series(session))
    if holder_of(ledger, session) == run:
        return answered(ledger, session, folded(ledger, session))
    try:
        rows: Rows = released_rows(ledger, session)
    except RefusedError:
        if held == "refuse":
            raise
        return _forked(ledger, run, session)
    transcript = Transcript(session)
    if counted:
        transcript = folded(ledger, session)
        _require_open(transcript)
    else:
        rows = opened_rows(session)
    claim = ("session.claimed", {"session": session, "run": run})
    append(ledger, session, [*rows, claim], counted)
    if not counted:
        transcript = folded(ledger, session)
    return answered(ledger, session, transcript)


@dataclass(frozen=True, slots=True)
class _ForkAround:
    """The fork that a run is, or is a part of."""

    run: str
    origin: str
    at: int
    """The event of the origin at which it begins."""


def _fork_around(ledger: Ledger, run: str) -> _ForkAround | None:
    """Return the fork that *run* is a part of; None if it is of none."""
    (began,) = ledger.events(run=run, limit=1)
    above = began.raw.get("parent")
    root = str(above["root"]) if isinstance(above, dict) else run
    if root != run:
        (began,) = ledger.events(run=root, limit=1)
    told = began.raw.get("fork")
    if not isinstance(told, dict):
        return None
    return _ForkAround(root, str(told["run"]), int(cast("int", told["at"])))


def _begun_in_fork(
    ledger: Ledger, fork: _ForkAround, session: str, held: Held
) -> dict[str, Any]:
    """Return what *session* is to a *fork*, which claims nothing."""
    origin, wanted = fork.origin, {"session": session, "held": held}
    for asked in ledger.events(run=origin, type="session_claim.requested"):
        if cast("_Data", ledger.resolve(asked))["request"] != wanted:
            continue
        ends = ledger.events(
            run=origin, type="session_claim.completed", from_seq=asked.seq
        )
        for told in ends:
            if (told.scope, told.ordinal) == (asked.scope, asked.ordinal):
                return cast(
                    "dict[str, Any]", cast("_Data", ledger.resolve(told))["value"]
                )
    transcript = _as_it_was(ledger, fork, session)
    if transcript.opened:
        _require_open(transcript)
    return answered(ledger, session, transcript)


def _as_it_was(ledger: Ledger, fork: _ForkAround, session: str) -> Transcript:
    """Return what *session* was at the event at which *fork* begins, if it was there."""
    before = fork.at + 1
    if not steps_of(ledger, session, before):
        return Transcript(session)
    return folded(ledger, session, before=before)


def _of_fork(ledger: Ledger, fork: _ForkAround, session: str) -> str:
    """Return the session of the runs that a *fork* calls, opening it if it is not there."""
    made = f"{session}~{fork.run}"
    if count_of(ledger, session_series(made)):
        return made
    joined = [
        one
        for run in _called_again(ledger, fork)
        for one in ledger.events(
            series=part_series(session, run), type="session.joined", limit=1
        )
    ]
    if joined:
        first = min(joined, key=lambda one: one.seq)
        position = int(cast("int", first.raw["position"]))
        source = folded(ledger, session, position, first.seq)
    else:
        source = _as_it_was(ledger, fork, session)
    rows = opened_rows(made, source, session) if source.opened else opened_rows(made)
    append(ledger, made, rows, 0)
    return made


def _called_again(ledger: Ledger, fork: _ForkAround) -> Iterator[str]:
    """Yield the runs below the origin that were not complete where the *fork* begins."""
    waiting = ledger.children(fork.origin)
    for run in waiting:
        ended = ledger.events(run=run, type=COMPLETED, to_seq=fork.at + 1, limit=1)
        if next(iter(ended), None) is None:
            waiting += ledger.children(run)
            yield run


def _claimed_below(
    ledger: Ledger, fork: _ForkAround, run: str, session: str, held: Held
) -> dict[str, Any]:
    """Claim for *run*, which a *fork* called, what is *session* there; the fork may have it."""
    part = f"{session}@{fork.run}"
    if not is_session(ledger, part):
        return _claimed_once(ledger, run, _of_fork(ledger, fork, session), held)
    if held == "fork":
        return _forked(ledger, run, session, part)
    raise held_by(fork.run, session)


def _forked(
    ledger: Ledger, run: str, session: str, name: str | None = None
) -> dict[str, Any]:
    """Fork *session*, or its part *name*, as it is now, for *run*, and claim the fork."""
    made, name = f"{session}~{run}", name or session
    counted = count_of(ledger, session_series(made))
    if not counted:
        source = folded(ledger, name)
        rows = opened_rows(made, source, name)
        rows.append(("session.claimed", {"session": made, "run": run}))
        append(ledger, made, rows, 0)
    return answered(ledger, made, folded(ledger, made))


def _require_open(transcript: Transcript) -> None:
    if not transcript.takes_messages:
        raise RefusedError(
            f"the session is {transcript.state}",
            rule="session/closed",
            place=transcript.session,
            remedy="take it up again by agent_session_resume, or fork it",
        )


def answered(ledger: Ledger, session: str, transcript: Transcript) -> dict[str, Any]:
    """Return *transcript* with its texts, as the effect answers it."""
    return {
        "session": session,
        "position": transcript.position,
        "number": transcript.number,
        "state": transcript.state,
        "tried_at": transcript.tried_at,
        "messages": [
            {
                "id": one.id,
                "role": one.role,
                "visibility": one.visibility,
                "tokens": one.tokens,
                "is_summary": one.is_summary,
                "message": message_of(ledger, one),
            }
            for one in transcript.entries
        ],
    }


def transcript_of(answer: Mapping[str, Any]) -> tuple[Transcript, dict[str, Any]]:
    """Return what *answered* told, and the texts of its messages."""
    entries = tuple(
        TranscriptEntry(
            str(one["id"]),
            str(one["role"]),
            str(one["visibility"]),
            int(one["tokens"]),
            None,
            bool(one["is_summary"]),
        )
        for one in answer["messages"]
    )
    transcript = Transcript(
        str(answer["session"]),
        entries,
        str(answer["state"]),
        int(answer["number"]),
        int(answer["position"]),
        opened=int(answer["position"]) > 0,
        tried_at=int(answer.get("tried_at", 0)),
    )
    return transcript, {
        str(one["id"]): dict(one["message"]) for one in answer["messages"]
    }


def claim_fault(_: object, value: object) -> str | None:
    """Say what is wrong with *value* as what a claim of a session tells."""
    try:
        transcript_of(cast("Mapping[str, Any]", value))
    except (AttributeError, KeyError, TypeError, ValueError):
        return "a claim tells session, state, number, position, and messages with texts"
    return None
