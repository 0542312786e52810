"""The record of a run, as the statements about it read it.

    record = AttestedRun.of(ledger, "01JD3…")
    record.counted("verdict.reached")     those that no resume superseded
    record.codes()                        each accepted program, with its real digest

Rules:

- It reads the signed payloads of the events, and no contents: what an erasure takes away
  changes nothing that was stated.
- With *last*, it reads the run as it was after that event: what was stated then can be
  derived again, whatever came later.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from muniment import RunSummaries
from muniment.errors import ErasedError, UsageError
from muniment.events.readable import as_signed
from muniment.formats.lifecycle import CONCLUDED, LIFE, RESUMED
from muniment.formats.statement import BlobRef
from muniment.verification.page.run_marks import NON_CERTIFIABLE
from muniment_plugins.evidence.exports.record import coverage_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muniment import RunSummary
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["AcceptedCode", "AttestedRun"]

_ACCEPTED = "synthesis.attempted"


@dataclass(frozen=True, slots=True)
class AcceptedCode:
    """A program that was accepted under its spec."""

    event: Event
    digest: str
    """``sha256:<hex>`` of its text in UTF-8, as of a file."""

    @property
    def subject(self) -> tuple[str, str]:
        """Its name in a statement, and its digest."""
        return f"event-{self.event.seq}/code", self.digest

    @property
    def origin(self) -> str | None:
        """Where it came from: ``llm`` and ``repair`` are models."""
        told = self.event.raw.get("origin")
        return told if isinstance(told, str) else None

    def erased(self, ledger: Ledger) -> bool:
        """Tell whether its text is gone, so that nobody can compare the digest."""
        code = self.event.raw["code"]
        if not isinstance(code, dict):
            return False
        try:
            ledger.get_blob(BlobRef.from_json(code))
        except ErasedError:
            return True
        return False


@dataclass(frozen=True, slots=True)
class AttestedRun:
    """The events of one run up to the last one that statements are about."""

    ledger: Ledger
    run: str
    events: Sequence[Event]
    summary: RunSummary
    superseded: frozenset[int]
    """The numbers of the facts that a resume superseded."""

    @classmethod
    def of(cls, ledger: Ledger, run: str, last: int | None = None) -> AttestedRun:
        """Read the run, up to the event *last*.

        Raises:
            UsageError: it has no events.
            WrongError: one of them is malformed.

        """
        fold = RunSummaries()
        state = fold.initial()
        events: list[Event] = []
        for event in ledger.events(run=run):
            if last is not None and event.seq > last:
                break
            events.append(as_signed(event))
            state = fold.apply(state, event)
        if not events:
            raise UsageError(
                "the ledger has no such run",
                rule="run/unknown",
                place=run,
                remedy="`muniment runs list` names all",
            )
        gone = frozenset(_superseded(events))
        return cls(ledger, run, events, fold.view(state), gone)

    @property
    def last(self) -> Event:
        """The last event of the run that is read."""
        return self.events[-1]

    @property
    def end(self) -> str:
        """The type of the last event of the run's life: how it ended, if it did."""
        return next(one.type for one in reversed(self.events) if one.type in LIFE)

    @property
    def concluded(self) -> bool:
        """Whether an end states counts and root, so that no event can be missing."""
        return self.end in CONCLUDED

    @property
    def derived(self) -> bool:
        """Whether answers of the run came from another one: a fork, or a replay."""
        return self.summary.fork is not None or self.summary.replay_of is not None

    @property
    def certifiable(self) -> bool:
        """Whether its verdicts may be relied upon; no resume takes a mark away."""
        return NON_CERTIFIABLE not in self.summary.marks

    @property
    def subject(self) -> tuple[str, str]:
        """The run as a subject: the payload of its last event, as a file.

        That payload names the event before it by its hash, and so all of the ledger
        up to there.
        """
        digest = hashlib.sha256(self.last.payload).hexdigest()
        return f"run-{self.run}/event-{self.last.seq}.json", f"sha256:{digest}"

    def counted(self, *types: str) -> list[Event]:
        """Return the events of these types, but for superseded ones."""
        return [
            one
            for one in self.events
            if one.type in types and one.seq not in self.superseded
        ]

    def codes(self) -> list[AcceptedCode]:
        """Return the accepted programs, each content once."""
        found: dict[str, AcceptedCode] = {}
        for one in self.counted(_ACCEPTED):
            # Verifiers compare the first subject with the text, as long as that is there.
            if one.raw.get("accepted") is True and one.subject[0].name == "code":
                digest = one.subject[0].digest
                found.setdefault(digest, AcceptedCode(one, digest))
        return list(found.values())

    def coverage(self, cited: Collection[int]) -> str:
        """Say for how many events a statement that rests on *cited* has a place."""
        left = Counter(one.type for one in self.events if one.seq not in cited)
        return coverage_of(len(self.events), left)


def _superseded(events: Sequence[Event]) -> set[int]:
    """Return the facts after a failure that a resume performs again, and around it."""
    gone: set[int] = set()
    for resumed in events:
        named = resumed.raw.get("supersedes") if resumed.type == RESUMED else None
        for one in named if isinstance(named, list) else ():
            match one:
                case [str(scope), int(ordinal)]:
                    gone |= _after(events, scope, ordinal, resumed.seq)
                case _:
                    pass  # it names no effect, and `verify` says so
    return gone


def _after(events: Sequence[Event], scope: str, ordinal: int, until: int) -> set[int]:
    """Return the facts between the last failure of an effect and the event *until*."""
    ended = [
        one.seq
        for one in events
        if one.seq < until
        and (one.scope, one.ordinal) == (scope, ordinal)
        and one.type.endswith(".failed")
    ]
    return {
        one.seq
        for one in events
        if ended
        and ended[-1] < one.seq < until
        and one.type not in LIFE
        and _is_around(one.scope or "", scope)
    }


def _is_around(scope: str, other: str) -> bool:
    """Tell whether *scope* is *other*, or around it."""
    return not scope or f"{other}/".startswith(f"{scope}/")
