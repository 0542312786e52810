"""Writing a session outside of runs: by people, by programs, between two runs.

Rules:

- What is written counts the events that there were when it was read: of two writers at
  once the second is refused, and nothing of it is written.
- While a run has the session nobody else writes it. Once that run ended, the next writer
  states how much of what it wrote belongs to the session.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from muniment.errors import AppendRefused, RefusedError, UsageError
from muniment_plugins.workflow.session_types import (
    SessionFact,
    part_series,
    session_name,
    session_series,
)
from muniment_plugins.workflow.sessions.contents import message_of
from muniment_plugins.workflow.sessions.streams import (
    count_of,
    folded,
    holder_of,
    is_at_work,
    part_of,
    require_moment,
)
from muniment_plugins.workflow.sessions.transcript import (
    Transcript,
    TranscriptEntry,
    first_ones,
)
from muniment_plugins.workflow.sessions.writer import Message, SessionWriter

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = [
    "OutsideSession",
    "Rows",
    "append",
    "opened_rows",
    "released_rows",
    "require_name",
    "require_series",
]

Rows = list[tuple[str, dict[str, Any]]]
_LONGEST = 160
_SERIES = 3
"""The version of events from which on they can be counted in series."""


@dataclass(slots=True)
class OutsideSession(SessionWriter):
    """A session that is written outside of runs."""

    ledger: Ledger = field(kw_only=True)
    counted: int = 0
    """How many events its series has."""
    before: Rows = field(default_factory=list[tuple[str, dict[str, Any]]])
    """What is written before the next event: who had it is done with it."""

    @classmethod
    def of(cls, ledger: Ledger, session: str) -> OutsideSession:
        """Return the *session* of *ledger*, to be changed.

        Raises:
            CannotTellError: there is none.
            RefusedError: a run has it.

        """
        require_name(session)
        require_series(ledger)
        counted = count_of(ledger, session_series(session))
        rows = released_rows(ledger, session)
        return cls(folded(ledger, session), ledger=ledger, counted=counted, before=rows)

    def restore(self, at: int) -> int:
        """Have the messages of the moment *at*; return how many these are.

        Raises:
            UsageError: there was no such moment.

        """
        self._require_open()
        require_moment(self.id, at)
        earlier = folded(self.ledger, self.id, at)
        self._state("restored", {"at": at, "kept": len(earlier.entries)})
        self.transcript.become(earlier)
        return len(earlier.entries)

    def _text(self, entry: TranscriptEntry) -> Message:
        found = self.texts.get(entry.id)
        if found is None:
            self.texts[entry.id] = found = message_of(self.ledger, entry)
        return found

    def _state(self, name: str, data: Mapping[str, Any]) -> None:
        kind = f"session.{name}"
        rows = [*self.before, (kind, {"session": self.id, **data})]
        events = append(self.ledger, self.id, rows, self.counted)
        self.counted += len(rows)
        self.before = []
        self.transcript.apply(kind, events[-1].raw, events[-1].seq)


def append(ledger: Ledger, session: str, rows: Rows, counted: int) -> list[Any]:
    """Append *rows* to the *session*, which has so many events.

    Raises:
        RefusedError: it has others by now.

    """
    made = [
        (kind, SessionFact({**data, "counted": counted + number}))
        for number, (kind, data) in enumerate(rows)
    ]
    try:
        return ledger.append_many(made)
    except AppendRefused as error:
        if error.rule != "event/counts":
            raise
        raise RefusedError(
            "somebody else wrote the session in between",
            rule="session/written-meanwhile",
            place=session,
            remedy="read it again, then do it again; or write to a fork of it",
        ) from error


def released_rows(ledger: Ledger, session: str) -> Rows:
    """Return what states that the run that has *session* is done; empty if none has.

    Raises:
        RefusedError: it is not done.

    """
    run = holder_of(ledger, session)
    if run is None:
        return []
    if is_at_work(ledger, run):
        raise held_by(run, session)
    included = count_of(ledger, part_series(session, run))
    data = {"session": session, "run": run, "included": included}
    return [("session.released", data)]


def held_by(run: str, session: str) -> RefusedError:
    """Return the error that says that *run* has the *session*."""
    return RefusedError(
        f"run {run} has the session, and has not ended",
        rule="session/held",
        place=session,
        remedy=f"fork it; or let the run end: `muniment resume {run}`, "
        f"or `muniment cancel {run}`",
    )


def require_name(session: object) -> str:
    """Return *session*, if it can be the id of a session that is written, as NFC.

    Raises:
        UsageError: it cannot.

    """
    ok = (
        isinstance(session, str)
        and 0 < len(session) <= _LONGEST
        and session.isprintable()
        and not any(one.isspace() or one == "@" for one in session)
    )
    if not ok:
        hint = "without spaces and @"
        if isinstance(session, str) and part_of(session)[1]:
            hint = f"this is what a run wrote: fork it by agent_session_fork({session!r:.120})"
        raise UsageError(
            f"{session!r:.200} is not the id of a session that can be written",
            rule="session/name",
            place="session",
            remedy=f"a text of 1 to {_LONGEST} characters, {hint}",
        )
    return session_name(str(session))


def require_series(ledger: Ledger) -> None:
    """Refuse a ledger whose events cannot be counted.

    Raises:
        RefusedError: it is one.

    """
    if ledger.keys.event_format < _SERIES:
        raise RefusedError(
            "the events of this ledger cannot be counted, so two writers could interleave",
            rule="session/no-series",
            place=str(ledger.path),
            remedy="go on in a successor: `muniment init DIR --continues LEDGER --reason R`",
        )


def opened_rows(
    session: str,
    source: Transcript | None = None,
    name: str = "",
    keep_first: int | None = None,
) -> Rows:
    """Return what opens *session*, empty or as a fork of *source*, which has that *name*."""
    data: dict[str, Any] = {"session": session}
    if source is not None:
        kept = len(source.entries)
        if keep_first is not None:
            keep_first = kept = first_ones(source.entries, keep_first)
        data |= {
            "source": session_name(name),
            "at": source.position,
            "keep_first": keep_first,
            "kept": kept,
        }
    return [("session.opened", data)]
