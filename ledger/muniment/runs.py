"""A run being recorded: facts, effects, and how each mode of a run answers them.

    live     performs, writes
    replay   answers from the record, compares, writes nothing
    resume   answers the recorded part, then performs and writes
    dry      writes nothing; kinds may say what they would answer

Rules:

- Facts wait in a buffer and are committed with the next effect: durability follows
  effects. What a crash can lose is only what a resume derives again.
- ``<kind>.requested`` is durable before the performer is called, the outcome before the
  program sees it. A program gets what the record can give back: the decoded twin.
- One counter per scope runs over facts and requests; an outcome has its request's
  ordinal, and so has a further attempt.
- The end of a run carries the number of its events per scope and the RFC 6962 root over
  their leaf hashes, so that a bundle of it can be shown to be complete.
"""

from __future__ import annotations

import hashlib
import hmac
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import NoReturn, Protocol, cast
from uuid import UUID

from muniment.batch import Draft
from muniment.blobs import Shared
from muniment.canonical import JsonValue
from muniment.comparing import Digest, comparable, first_difference
from muniment.divergence import Divergence
from muniment.errors import (
    UsageError,
)
from muniment.event_types import Prepared
from muniment.events import Event, Place, Subject
from muniment.kinds import EffectKind
from muniment.merkle import Frontier
from muniment.recorded import Item, Recorded
from muniment.store import Fence
from muniment.value_types import ValueTypes

__all__ = ["Answer", "Handle", "Port", "Recording"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a plugin's ``before_effect`` gives in the place of the performer."""

    value: object
    by: Mapping[str, str] = field(default_factory=dict[str, str])


class Port(Protocol):
    """What a run needs of the ledger that it is recorded in."""

    values: ValueTypes
    """The classes whose instances cross into JSON."""

    def kind(self, name: str) -> EffectKind:
        """Return the effect kind *name*, or raise with a suggestion."""
        ...

    def prepare(self, name: str, data: Mapping[str, object], run: str) -> Prepared:
        """Validate the data of an event and ask ``before_append``."""
        ...

    def write(self, drafts: list[Draft], fence: Fence | None) -> list[Event]:
        """Append *drafts* in one durable commit, then tell ``after_append``."""
        ...

    def before_effect(
        self, run: Recording, scope: str, kind: str, request: object
    ) -> Answer | None:
        """Ask the plugins; None when nobody answers; raise when one refuses."""
        ...

    def hook(self, name: str, **arguments: object) -> object:
        """Return the first plugin's answer to the hook *name*, or raise."""
        ...


@dataclass(slots=True)
class Handle:
    """A fact that was recorded; its event exists once it was written."""

    recording: Recording
    written: Event | None = None

    @property
    def event(self) -> Event:
        """The event, writing what is buffered first.

        Raises:
            UsageError: the run is dry and writes nothing.

        """
        if self.written is None:
            self.recording.flush()
        if self.written is None:
            raise UsageError("a dry run writes no events", rule="run/dry")
        return self.written


@dataclass(slots=True)
class Pending:
    """A fact in the buffer."""

    draft: Draft
    handle: Handle


class Recording:
    """The state of one run in one process; lanes are handles on it."""

    def __init__(  # noqa: PLR0913 - the fixed facts of a run
        self,
        port: Port,
        run_id: str,
        name: str,
        *,
        mode: str,
        seed: str,
        tenant: str = "default",
        actor: str = "local",
        record: Recorded | None = None,
    ) -> None:
        self.run_id, self.name, self.mode = run_id, name, mode
        self.tenant, self.actor = tenant, actor
        self.record_of = record
        self.digest = Digest()
        self.divergences: list[Divergence] = []
        self.compared = 0
        self.fence: Fence | None = None
        self.permit: Callable[[], AbstractContextManager[object]] | None = None
        self.decide: Callable[[str, object], str] | None = None
        """``repeat`` or ``refuse`` for a doubtful effect, by its kind and request."""
        self.counts: dict[str, int] = {}
        self._frontier = Frontier()
        self.port = port
        self.seed = seed
        self.writes = mode in ("live", "resume")
        self._buffer: list[Pending] = []
        self._ordinals: dict[str, int] = {}
        self._draws: dict[tuple[str, str], int] = {}
        self.occurrences: dict[tuple[str, str], int] = {}
        self._shared = Shared()
        self.lock = threading.RLock()
        if record is not None:
            for event in record.events:
                self._count(event)
            self._ordinals = {n: s.next_ordinal for n, s in record.scopes.items()}

    # -- facts ---------------------------------------------------------------------

    def record(
        self,
        scope: str,
        kind: str,
        data: Mapping[str, object],
        subjects: tuple[Subject, ...] = (),
    ) -> Handle:
        """State a fact in *scope*; see `Lane.record`."""
        prepared = self.port.prepare(kind, data, self.run_id)
        facts = comparable(prepared)
        with self.lock:
            item = self._recorded_fact(scope, kind, facts)
            self.digest.add(scope, kind, facts)
            if item is not None:
                return Handle(self, item.event)
            handle = Handle(self)
            if self.writes:
                place = Place(self.run_id, scope, self.next_ordinal(scope))
                draft = self.draft(prepared, place, subjects)
                self._buffer.append(Pending(draft, handle))
            return handle

    def _recorded_fact(
        self, scope: str, kind: str, facts: dict[str, JsonValue]
    ) -> Item | None:
        record = self.record_of
        if record is None:
            return None
        item = record.fact(scope, kind, facts)
        self.compared += item is not None
        if item is None and (self.mode == "replay" or record.has_facts(scope)):
            self.diverge(scope, record.next_in(scope, effect=False), kind, facts)
        return item

    def read_clock(self, scope: str, now: Callable[..., str]) -> str:
        """Return the time as a fact: recorded live, answered later."""
        from datetime import UTC, datetime  # noqa: PLC0415 - beside its only use

        handle = self.record(scope, "clock.read", {"time": now(datetime.now(UTC))})
        if handle.written is not None:
            return cast("str", handle.written.raw["time"])
        for pending in reversed(self._buffer):
            if pending.handle is handle:
                return cast("str", pending.draft.prepared.inline["time"])
        return cast("str", handle.event.raw["time"])

    # -- draws ---------------------------------------------------------------------

    def draw_float(self, scope: str) -> float:
        """Return the next number of *scope*, 53 bits from the run's seed."""
        return (int.from_bytes(self._draw(scope, "random")[:7]) >> 3) / 2**53

    def draw_uuid(self, scope: str) -> UUID:
        """Return the next UUID (version 4) of *scope* from the run's seed."""
        return UUID(bytes=self._draw(scope, "uuid")[:16], version=4)

    def _draw(self, scope: str, what: str) -> bytes:
        with self.lock:
            count = self._draws.get((scope, what), 0)
            self._draws[scope, what] = count + 1
        message = f"{what}\0{scope}\0{count}".encode()
        return hmac.digest(self.seed.encode(), message, hashlib.sha256)

    # -- divergence ----------------------------------------------------------------

    def diverge(
        self, scope: str, expected: Item | None, kind: str, got: dict[str, JsonValue]
    ) -> NoReturn:
        """Report that the program stated or asked something else, and stop it."""
        record = self.record_of
        if expected is None or record is None:
            found = Divergence("extra", scope, None, "type", None, kind)
        elif expected.event.type != kind:
            seq, was = expected.event.seq, expected.event.type
            found = Divergence("type", scope, seq, "type", was, kind)
        else:
            data: JsonValue = record.data(expected.event)
            difference = first_difference(data, got) or ("data", data, got)
            what = "effect" if expected.kind else "fact"
            found = Divergence(what, scope, expected.event.seq, *difference)
        self.report(found)
        raise AssertionError("a divergence was reported")

    def missing(self, left: Item) -> NoReturn:
        """Report that the program never came to what the record holds."""
        found = Divergence(
            "missing", left.scope, left.event.seq, "type", left.event.type, None
        )
        self.report(found)

    def report(self, found: Divergence) -> NoReturn:
        """Keep *found*, and stop the program with it."""
        self.divergences.append(found)
        raise found.error(self.run_id)

    # -- writing -------------------------------------------------------------------

    def flush(self) -> None:
        """Write what is buffered; durable on return."""
        with self.lock:
            if self._buffer:
                self.write()

    def write_lifecycle(self, kind: str, data: Mapping[str, object]) -> Event:
        """Write an event of the run itself, after everything that is buffered."""
        return self.write_prepared(self.port.prepare(kind, data, self.run_id))

    def write_prepared(self, prepared: Prepared) -> Event:
        """Write an event of the run itself that was prepared already."""
        with self.lock:
            place = Place(self.run_id, "", self.next_ordinal(""))
            return self.write(self.draft(prepared, place))

    def completeness(self) -> dict[str, object]:
        """Return counts per scope and the root over all events of the run so far."""
        return {"counts": dict(self.counts), "root": self._frontier.root().hex()}

    def draft(
        self, prepared: Prepared, place: Place, subjects: tuple[Subject, ...] = ()
    ) -> Draft:
        """Return *prepared* as an event of this run at *place*."""
        return Draft(prepared, self.actor, self.tenant, place, subjects, self._shared)

    def write(self, last: Draft | None = None) -> Event:
        """Write the buffer and *last* in one commit; return the last event."""
        waiting = self._buffer
        drafts = [one.draft for one in waiting] + ([] if last is None else [last])
        events = self.port.write(drafts, self.fence)
        self._buffer = []
        for pending, event in zip(waiting, events, strict=False):
            pending.handle.written = event
        for event in events:
            self._count(event)
        return events[-1]

    def _count(self, event: Event) -> None:
        scope = event.scope or ""
        self.counts[scope] = self.counts.get(scope, 0) + 1
        self._frontier.append(bytes.fromhex(event.hash))

    def next_ordinal(self, scope: str) -> int:
        """Count one more fact or request in *scope*."""
        ordinal = self._ordinals.get(scope, 0)
        self._ordinals[scope] = ordinal + 1
        return ordinal
