"""Reading sessions from the ledger: their events in order, and what they fold to.

    folded(ledger, "desk")                 the transcript now
    folded(ledger, "desk", at=7)           after its seventh event
    folded(ledger, "desk@01J…")            as a run had it, or as a fork of that run has it

Rules:

- The part that a run wrote stands where the run claimed the session, whole and in one
  piece; parts of two runs never interleave. What a run wrote after it was released
  belongs to ``<id>@<run>`` only.
- What a resumption takes back (`run.resumed`, ``supersedes``) is part of no transcript.
- An event names what it builds on by a position that was there before it; so no chain of
  forks has a circle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, cast

from muniment.errors import CannotTellError, UsageError, WrongError
from muniment.formats.lifecycle import FINAL, LIFE, RESUMED
from muniment_plugins.workflow.session_types import (
    part_series,
    session_name,
    session_series,
)
from muniment_plugins.workflow.sessions.transcript import Transcript

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.hookspecs import ReadableLedger
    from muniment.ledger import Ledger

__all__ = [
    "SessionStep",
    "count_of",
    "first_position",
    "folded",
    "holder_of",
    "is_at_work",
    "is_session",
    "no_session",
    "part_of",
    "require_moment",
    "steps_of",
    "writer_of",
]

_TYPES = "session.*"
_OF_PLACES = ("session.claimed", "session.released", "session.joined")
"""Events that say where parts belong, and are no moments of a session."""


@dataclass(frozen=True, slots=True)
class SessionStep:
    """One event of a session."""

    kind: str
    data: Mapping[str, Any]
    event: Event

    @property
    def seq(self) -> int:
        """The position of the event in the ledger."""
        return self.event.seq


def part_of(name: str) -> tuple[str, str | None]:
    """Return the session and the run of ``<session>@<run>``; None without a run."""
    session, at, run = session_name(name).partition("@")
    return session, (run if at else None)


def is_session(ledger: ReadableLedger, name: str) -> bool:
    """Tell whether there is a session *name*."""
    session, run = part_of(name)
    key = session_series(session) if run is None else part_series(session, run)
    return next(ledger.events(series=key, limit=1), None) is not None


def count_of(ledger: ReadableLedger, key: str) -> int:
    """Return how many events the series *key* has."""
    for event in ledger.events(series=key, order="desc", limit=1):
        return next(one.count for one in event.series if one.key == key)
    return 0


def holder_of(ledger: Ledger, session: str) -> str | None:
    """Return the run that claimed *session* and was not released; None if there is none."""
    key = session_series(session)
    kinds = "session.claimed,session.released"
    for event in ledger.events(series=key, type=kinds, order="desc", limit=1):
        if event.type == "session.claimed":
            return str(event.raw["run"])
    return None


def writer_of(ledger: Ledger, name: str) -> str | None:
    """Return the run that alone may write the session *name* now; None if none has it."""
    session, run = part_of(name)
    held = None if run is not None else holder_of(ledger, session)
    return held if held is not None and is_at_work(ledger, held) else None


def is_at_work(ledger: Ledger, run: str) -> bool:
    """Tell whether *run* may still write: it has not ended, or can be resumed."""
    kinds = ",".join(sorted(LIFE))
    for event in ledger.events(run=run, type=kinds, order="desc", limit=1):
        return event.type not in {*FINAL, "run.failed"}
    return False


def steps_of(ledger: Ledger, name: str, before: int | None = None) -> list[SessionStep]:
    """Return the events of the session *name* in its own order.

    Args:
        ledger: an open ledger.
        name: a session, or a part of one.
        before: events from this position of the ledger on are left out.

    """
    session, run = part_of(name)
    if run is not None:
        return [
            one for one in _part(ledger, session, run, before) if _is_moment(one.kind)
        ]
    made: list[SessionStep] = []
    found = list(_events(ledger, session_series(session), before))
    released = {
        str(one.raw["run"]): one.seq for one in found if one.type == "session.released"
    }
    for event in found:
        if event.type == "session.claimed":
            claimed = str(event.raw["run"])
            part = _part(ledger, session, claimed, released.get(claimed, before))
            made += [one for one in part if _is_moment(one.kind)]
        elif _is_moment(event.type):
            made.append(SessionStep(event.type, event.raw, event))
    return made


def folded(
    ledger: Ledger, name: str, at: int | None = None, before: int | None = None
) -> Transcript:
    """Return what the session *name* is, or was after its *at*-th event.

    Raises:
        CannotTellError: there is no such session.
        UsageError: it has fewer events.
        WrongError: an event builds on what is not there.

    """
    session, run = part_of(name)
    if at is not None:
        require_moment(name, at)
    transcript = Transcript(session)
    if run is not None:
        _join(ledger, transcript, session, run)
    steps = steps_of(ledger, name, before)
    if not steps and not transcript.opened:
        raise no_session(ledger, name)
    begun = transcript.position
    if at is not None and at <= begun and transcript.opened:
        return folded(ledger, session, at)
    if at is not None and not 0 < at <= begun + len(steps):
        raise _no_moment(
            name,
            f"{name} has {begun + len(steps)} events, not {at}",
            "`muniment sessions show` counts them",
        )
    _fold(ledger, transcript, steps if at is None else steps[: at - begun], run)
    return transcript


def first_position(ledger: Ledger, name: str) -> int:
    """Return how many events there were before those of the session *name*'s own."""
    session, run = part_of(name)
    if run is None:
        return 0
    first = next(_events(ledger, part_series(session, run)), None)
    is_part = first is not None and first.type == "session.joined"
    return int(cast("int", first.raw["position"])) if first and is_part else 0


def no_session(ledger: ReadableLedger, name: str) -> CannotTellError:
    """Return the error that says that there is no session *name*."""
    return CannotTellError(
        f"there is no session {name!r:.120}",
        rule="session/unknown",
        place=str(getattr(ledger, "path", "")),
        remedy="`muniment sessions` lists them",
    )


def require_moment(name: str, at: object) -> None:
    """Refuse what is no moment of the session *name*.

    Raises:
        UsageError: it is no whole number.

    """
    if type(at) is not int:
        why = f"{at!r:.80} is no moment of a session"
        raise _no_moment(name, why, "a whole number")


def _no_moment(name: str, why: str, remedy: str) -> UsageError:
    return UsageError(why, rule="session/position", place=name, remedy=remedy)


def _is_moment(kind: str) -> bool:
    return kind not in _OF_PLACES


def _events(ledger: Ledger, key: str, before: int | None = None) -> Iterator[Event]:
    return ledger.events(series=key, type=_TYPES, to_seq=before)


def _join(ledger: Ledger, transcript: Transcript, session: str, run: str) -> None:
    """Begin *transcript* with what the session was when *run* began its part."""
    first = next(_events(ledger, part_series(session, run)), None)
    if first is None or first.type != "session.joined":
        return
    position = int(cast("int", first.raw["position"]))
    found = folded(ledger, session, position, first.seq)
    for name in fields(Transcript):
        if name.name != "session":
            setattr(transcript, name.name, getattr(found, name.name))


def _fold(
    ledger: Ledger,
    transcript: Transcript,
    steps: Sequence[SessionStep],
    run: str | None,
) -> None:
    wanted = {int(one.data["at"]) for one in steps if one.kind == "session.restored"}
    moments = {transcript.position: transcript.copy()}
    begun = transcript.position
    for step in steps:
        if step.kind == "session.opened" and step.data.get("source") is not None:
            _begin_as_fork(ledger, transcript, step, run)
        elif step.kind == "session.restored":
            at = int(step.data["at"])
            known = moments.get(at)
            if known is None and at < begun:
                known = folded(ledger, transcript.session, at)
            if known is None:
                raise _wrong(step, f"it restores moment {at}, which is not before it")
            transcript.become(known)
        transcript.apply(step.kind, step.data, step.seq)
        if transcript.position in wanted:
            moments[transcript.position] = transcript.copy()


def _begin_as_fork(
    ledger: Ledger, transcript: Transcript, step: SessionStep, run: str | None
) -> None:
    source, at = str(step.data["source"]), step.data.get("at")
    if run is not None and part_of(source)[1] is None:
        part = f"{source}@{run}"
        first = next(_events(ledger, part_series(source, run), step.seq), None)
        source = source if first is None else part
    if at is None:
        raise _wrong(step, "it does not say where its source was forked")
    try:
        found = folded(ledger, source, int(at), step.seq)
    except (CannotTellError, UsageError) as error:
        raise _wrong(
            step, f"what it was forked from is not there: {error.message}"
        ) from error
    transcript.begin_as(found, step.data.get("keep_first"))
    transcript.source = str(step.data["source"])


def _part(
    ledger: Ledger, session: str, run: str, before: int | None = None
) -> list[SessionStep]:
    """Return what *run* wrote to *session*, without what a resumption took back."""
    key = part_series(session, run)
    found = [event for event in _events(ledger, key, before) if event.run == run]
    gone = _taken_back(ledger, run, before) if found else None
    return [
        SessionStep(one.type, one.raw, one)
        for one in found
        if gone is None or not gone(one)
    ]


def _taken_back(
    ledger: Ledger, run: str, before: int | None
) -> Callable[[Event], bool]:
    """Return what tells whether an event of *run* was superseded by then."""
    spans: list[tuple[int, int, frozenset[str]]] = []
    for resumed in ledger.events(run=run, type=RESUMED, to_seq=before):
        named = cast("list[tuple[str, int]]", resumed.raw.get("supersedes") or [])
        for scope, ordinal in named:
            kinds = "*.failed,*.canceled,*.refused"
            for event in ledger.events(
                run=run, type=kinds, to_seq=resumed.seq, order="desc"
            ):
                if (event.scope or "", event.ordinal) == (scope, ordinal):
                    spans.append((event.seq, resumed.seq, _around(scope)))
                    break

    def gone(event: Event) -> bool:
        return any(
            first < event.seq < last and (event.scope or "") in scopes
            for first, last, scopes in spans
        )

    return gone


def _around(scope: str) -> frozenset[str]:
    """Return *scope* and those around it."""
    parts = scope.split("/") if scope else []
    return frozenset("/".join(parts[:length]) for length in range(len(parts) + 1))


def _wrong(step: SessionStep, message: str) -> WrongError:
    return WrongError(
        message,
        rule="session/history",
        seq=step.seq,
        place=f"event {step.seq}",
        remedy="whoever wrote the event did not use agent_session_*: ask its actor, "
        f"{step.event.actor:.80}",
    )
