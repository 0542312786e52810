"""A run being recorded: its buffer, its counters, what it writes, and what stopped it.

Rules:

- Facts wait in a buffer and are committed with the next effect: durability follows
  effects. A crash can lose only what a resume derives again.
- ``<kind>.requested`` is durable before the performer is called, the outcome before the
  program sees it, as the decoded twin; if it is passed on first (`streams`), before
  whatever follows.
- Each scope counts facts and requests; outcomes and attempts have their request's ordinal.
- The end of a run carries the number of its events per scope and the RFC 6962 root over
  their leaf hashes: a bundle of the run can be shown to be complete.
"""

from __future__ import annotations

import hashlib
import hmac
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn, TypeVar
from uuid import UUID

from muniment.encoding.canonical import canonical
from muniment.encoding.texts import remembered
from muniment.errors import (
    AppendRefused,
    EffectFailed,
    MunimentError,
    RunFenced,
    RunPaused,
    UsageError,
)
from muniment.events.types import Prepared
from muniment.formats.lifecycle import FAILED, INTERRUPTED, PAUSED
from muniment.formats.merkle import Frontier
from muniment.formats.statement import Event, Place, Subject
from muniment.recorded.compare import PLUGIN_SCOPE, Digest
from muniment.recorded.refusals import REFUSED
from muniment.runs.modes.live import Mode
from muniment.runs.owner import RunOwner
from muniment.runs.seams import Port, RunFacts, RunState, Stream
from muniment.storage.append import Fence
from muniment.storage.blobs import Shared
from muniment.storage.sealing import Draft, detached

__all__ = ["Handle", "Recording"]

E = TypeVar("E", bound=BaseException)

COUNTS = 32 * 1024
"""The size in bytes up to which the end of a run says how many events a scope has."""

ROUNDS = 8
"""How often observers may state facts about the facts that they stated."""

UNREFUSED = frozenset({FAILED, INTERRUPTED, PAUSED})
"""Events that are written whatever plugins say: the run stopped."""


@dataclass(slots=True)
class Handle:
    """A recorded fact; its event exists once it was written."""

    recording: Recording
    written: Event | None = None
    known: bool = False
    """Whether a record holds it: this run's, or that of a fork's origin."""

    @property
    def event(self) -> Event:
        """The event, writing what is buffered first.

        Raises:
            UsageError: the run is dry, or its record holds no such fact.

        """
        if self.written is None:
            self.recording.flush()
        if self.written is None:
            mode = self.recording.mode.name
            raise UsageError(f"a {mode} run writes no events", rule=f"run/{mode}")
        return self.written


@dataclass(slots=True)
class Pending:
    """A fact in the buffer, parts of a stream, or an outcome."""

    draft: Draft
    handle: Handle | None = None
    held: bool = False
    """Whether it is written only if the run continues."""


class Recording:
    """The state of one run in one process; lanes are handles on it."""

    fence: Fence | None = None
    parent: RunState | None = None
    """The run that called this one in this process, if one did."""
    ancestors: tuple[str, ...] = ()
    """The runs that this one is a child of: its parent first, the root last."""
    leaf: str = ""
    """The leaf hash of the last event of the run."""
    halted: BaseException | None = None
    """The error that stopped the run; a program that swallows it gets it again."""
    ended: bool = False
    ending: bool = False
    """Whether only the end itself remains to be written."""

    def __init__(  # noqa: PLR0913 - the fixed facts of a run
        self,
        port: Port,
        run_id: str,
        name: str,
        *,
        mode: Mode,
        seed: str,
        tenant: str = "default",
        actor: str = "local",
    ) -> None:
        self.run_id, self.name, self.mode = run_id, name, mode
        self.doubts = mode.doubts
        self.owner = RunOwner(run_id)
        self.tenant, self.actor = tenant, actor
        self.facts = RunFacts(run_id, name, tenant)
        """What plugins are told of the run."""
        self.fatal: list[EffectFailed] = []  # whether or not they were swallowed
        self.digest = Digest()
        self.counts: dict[str, int] = {}
        self._frontier = Frontier()
        self.port = port
        self.seed = seed
        self.streams: list[Stream] = []
        """Those that are open, in the order in which they began."""
        self._buffer: list[Pending] = []
        self._ordinals: dict[str, int] = {}
        self._draws: dict[tuple[str, str], int] = {}
        self.occurrences: dict[tuple[str, str], int] = {}
        self._shared = Shared()
        self.lock = threading.RLock()
        if mode.record is not None:
            for event in mode.record.events:
                self._count(event)
            scopes = mode.record.scopes
            self._ordinals = {name: one.next_ordinal for name, one in scopes.items()}

    def redacted(self, text: str) -> str:
        """Return *text* without the secrets that plugins and their memory know."""
        return self.port.hide(remembered(text, self.facts.memory))

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: a run does not travel."""
        self.owner.refuse_travel()

    def descend(self, parent: RunState) -> None:
        """Become a child of *parent*: stop when it stops, with the same fence."""
        self.parent, self.ancestors = parent, (parent.run_id, *parent.ancestors)
        if parent.fence is not None:
            self.own(parent.fence.since)

    def own(self, since: int) -> None:
        """Take the run as owned here since the event *since*."""
        self.fence = Fence((self.run_id, *self.ancestors), since)

    # -- facts ---------------------------------------------------------------------

    def record(
        self,
        scope: str,
        kind: str,
        data: Mapping[str, object],
        subjects: tuple[Subject, ...] = (),
        series: Iterable[str] = (),
    ) -> Handle:
        """State a fact in *scope*; see `Run.record`."""
        self.owner.require()
        prepared = self.port.validate(kind, data, series)
        draft = detached(self.draft(prepared, Place(self.run_id, scope), subjects))
        with self.lock:
            self.require_going()
            item = self.mode.fact(self, scope, kind, data, draft.prepared)
            self.digest.add(scope, kind, draft.prepared)
            if item is not None and item.event.run == self.run_id:
                return Handle(self, item.event, known=True)
            handle = Handle(self, known=item is not None)
            if self.mode.writes:
                place = Place(self.run_id, scope, self.next_ordinal(scope))
                self.take_parts()
                self._buffer.append(Pending(replace(draft, place=place), handle))
            return handle

    def read_clock(
        self, scope: str, moment: str
    ) -> tuple[Mapping[str, object], Event | None]:
        """State that the clock was read; return the reading, and its recorded event."""
        self.owner.require()
        with self.lock:
            told = self.mode.clock(scope, moment)
            return told, self.record(scope, "clock.read", told).written

    def pause(self, scope: str, reason: str) -> None:
        """Stop here until the run is resumed, unless the record passed this pause."""
        with self.lock:
            stated = self.record(scope, "pause.stated", {"reason": reason})
            if not stated.known and not self.mode.replays:
                raise self.halt(RunPaused(reason))

    def refused(self, scope: str, kind: str, refusal: AppendRefused) -> AppendRefused:
        """Record that a plugin refused an event; return the error the program sees."""
        plugin, reason = refusal.by["name"], self.redacted(refusal.message)
        if self.mode.writes:
            data = {"plugin": plugin, "event_type": kind, "scope": scope}
            prepared = self.port.validate(REFUSED, {**data, "reason": reason})
            lane = f"{PLUGIN_SCOPE}/{plugin}"
            with self.lock:
                place = Place(self.run_id, lane, self.next_ordinal(lane))
                self.take_parts()
                self._buffer.append(Pending(self.draft(prepared, place)))
        return AppendRefused.by_plugin(plugin, reason)

    # -- draws ---------------------------------------------------------------------

    def draw_float(self, scope: str) -> float:
        """Return the next number of *scope*, 53 bits from the run's seed."""
        return (int.from_bytes(self._draw(scope, "random")[:7]) >> 3) / 2**53

    def draw_uuid(self, scope: str) -> UUID:
        """Return the next UUID (version 4) of *scope* from the run's seed."""
        return UUID(bytes=self._draw(scope, "uuid")[:16], version=4)

    def draw_seed(self, scope: str) -> str:
        """Return the seed of the next child that *scope* calls; a resume gives it, too."""
        return self._draw(scope, "child")[:16].hex()

    def _draw(self, scope: str, what: str) -> bytes:
        self.owner.require()
        with self.lock:
            count = self._draws.get((scope, what), 0)
            self._draws[scope, what] = count + 1
        message = f"{what}\0{scope}\0{count}{self.mode.salt(self, scope)}".encode()
        return hmac.digest(self.seed.encode(), message, hashlib.sha256)

    # -- the end ---------------------------------------------------------------------

    def halt(self, error: E) -> E:
        """Remember the first *error* that nothing may follow; return it to be raised."""
        self.halted = self.halted or error
        return error

    @property
    def stopped(self) -> BaseException | None:
        """What stopped the run, or one of its ancestors."""
        above = None if self.parent is None else self.parent.stopped
        return self.halted or above

    def require_going(self) -> None:
        """Raise what stopped the run or its parent again, or refuse once it ended."""
        if (stopped := self.stopped) is not None:
            raise self.halt(stopped)
        if self.ended or self.ending:
            raise self.owner.ended()

    def require_unfailed(self) -> None:
        """Raise what stopped the run, or a failure that nobody may swallow."""
        self.require_going()
        if self.fatal:
            raise self.fatal[0]

    # -- writing -------------------------------------------------------------------

    def flush(self) -> None:
        """Write what is buffered; durable on return."""
        self.owner.require()
        with self.lock:
            self.take_parts()
            if self._buffer:
                self.write()

    def require_owned(self) -> None:
        """Refuse to pass on what this owner of the run could not write any more."""
        if self.fence is not None:
            try:
                self.port.require_owned(self.fence)
            except RunFenced as error:
                raise self.halt(error) from None

    def close_streams(self) -> None:
        """Write the outcomes of streams that are open when the run ends."""
        for stream in tuple(self.streams):
            stream.close()

    def take_parts(self) -> None:
        """Append the parts that streams passed on to the buffer."""
        drafts = [stream.draft() for stream in self.streams] if self.mode.writes else []
        self._buffer += [Pending(one) for one in drafts if one is not None]

    def drain(self) -> None:
        """Write what is buffered, and what observers state about it, before the end."""
        self.owner.require()
        with self.lock:
            for _ in range(ROUNDS):
                self.flush()
            if self._buffer:
                self.ending = True  # they would never stop
                self.flush()

    def write_lifecycle(
        self,
        kind: str,
        data: Mapping[str, object],
        series: Iterable[str] = (),
        subjects: tuple[Subject, ...] = (),
    ) -> Event:
        """Write an event of the run itself, after everything that is buffered."""
        prepared = self.port.validate(kind, data, series)
        if kind not in UNREFUSED:
            self.port.admit(kind, data, self.run_id)
        return self.write_prepared(prepared, subjects)

    def write_prepared(
        self, prepared: Prepared, subjects: tuple[Subject, ...] = ()
    ) -> Event:
        """Write an event of the run itself that was prepared already."""
        self.owner.require()
        with self.lock:
            place = Place(self.run_id, "", self.next_ordinal(""))
            return self.write(self.draft(prepared, place, subjects))

    def completeness(self) -> dict[str, object]:
        """Return the root over all events of the run so far, and counts per scope.

        The root alone is proof; the counts, which say more, must fit beside it.
        """
        root: dict[str, object] = {"root": self._frontier.root().hex()}
        fits = len(canonical({**self.counts})) <= COUNTS
        return {"counts": dict(self.counts), **root} if fits else root

    def draft(
        self, prepared: Prepared, place: Place, subjects: tuple[Subject, ...] = ()
    ) -> Draft:
        """Return *prepared* as an event of this run at *place*."""
        return Draft(prepared, self.actor, self.tenant, place, subjects, self._shared)

    def write(self, last: Draft | None = None) -> Event:
        """Write the buffer and *last* in one commit; return the last event."""
        self.owner.require()
        if self.ended:
            raise self.owner.ended()
        self.take_parts()
        waiting, self._buffer = self._buffer, []
        drafts = [one.draft for one in waiting] + ([] if last is None else [last])
        try:
            events = self.port.commit(drafts, self.fence)
        except RunFenced as error:
            self.halt(error)
            raise
        except MunimentError:
            self._buffer = waiting
            raise
        except BaseException as error:
            # Only a resume can tell whether it was committed.
            self.halt(error)
            raise
        for pending, event in zip(waiting, events, strict=False):
            if pending.handle is not None:
                pending.handle.written = event
        for event in events:
            self._count(event)
        if self.fence is not None:  # nobody took over before the last of these
            self.own(events[-1].seq)
        self.port.tell(events, self.facts)
        return events[-1]

    def defer(self, prepared: Prepared, place: Place) -> None:
        """Write the request at *place* with its outcome, since nothing is performed."""
        self.take_parts()
        self._buffer.append(Pending(self.draft(prepared, place)))

    def hold(self, outcome: Draft) -> None:
        """Write *outcome* with the next write, unless the run is interrupted first."""
        self._buffer.append(Pending(outcome, held=True))

    def drop_held(self) -> None:
        """Drop outcomes that are written only if the run continues."""
        self._buffer = [one for one in self._buffer if not one.held]

    def _count(self, event: Event) -> None:
        scope = event.scope or ""
        self.counts[scope] = self.counts.get(scope, 0) + 1
        self._frontier.append(bytes.fromhex(event.hash))
        self.leaf = event.hash

    def next_ordinal(self, scope: str) -> int:
        """Count one more fact or request in *scope*."""
        ordinal = self._ordinals.get(scope, 0)
        self._ordinals[scope] = ordinal + 1
        return ordinal
