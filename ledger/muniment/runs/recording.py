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

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn
from uuid import UUID

from muniment.encoding.canonical import JsonValue, canonical
from muniment.encoding.draws import as_float, as_uuid, drawn
from muniment.encoding.texts import remembered
from muniment.errors import (
    AppendRefused,
    MunimentError,
    RunFenced,
    UsageError,
)
from muniment.events.types import Prepared
from muniment.formats.merkle import Frontier
from muniment.formats.statement import Event, Place, Subject
from muniment.recorded.compare import PLUGIN_SCOPE, Digest
from muniment.recorded.refusals import REFUSED, UNREFUSED
from muniment.runs.halts.fatal import Fatal
from muniment.runs.halts.halting import Halting
from muniment.runs.halts.held import Flow, Pending, flow, left_by_interruption, parted
from muniment.runs.modes.live import Mode
from muniment.runs.owner import RunOwner
from muniment.runs.privacy.private_lanes import Privacy
from muniment.runs.seams import Port, RunFacts, RunState, Stream
from muniment.storage.append import Fence
from muniment.storage.blobs import Shared
from muniment.storage.sealing import Draft, detached

__all__ = ["Handle", "Recording"]

COUNTS = 32 * 1024
"""The size in bytes up to which the end of a run says how many events a scope has."""
ROUNDS = 8
"""How often observers may state facts about the facts that they stated."""


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

    def known_content(self, name: str) -> JsonValue:
        """Return what the run's own record has as *name*; None if the fact is new there.

        So a program goes on with what it said when it began, also of what is not compared.

        Raises:
            ErasedError: it was erased.

        """
        record = self.recording.mode.record
        if record is None or self.written is None or not self.known:
            return None
        return record.content(self.written, name)


class Recording(Halting):
    """The state of one run in one process; lanes are handles on it."""

    fence: Fence | None = None
    ancestors: tuple[str, ...] = ()
    """The runs that this one is a child of: its parent first, the root last."""
    leaf: str = ""
    """The leaf hash of the last event of the run."""

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
        super().__init__(RunOwner(run_id))
        self.run_id, self.name, self.mode = run_id, name, mode
        self.doubts = mode.doubts
        self.tenant, self.actor = tenant, actor
        self.facts = RunFacts(run_id, name, tenant)  # what plugins are told of the run
        self.memory: dict[str, object] = {}  # of lanes; that of hooks is in the facts
        self.fatal, self.digest, self.privacy = Fatal(), Digest(), Privacy()
        self.counts: dict[str, int] = {}
        self._frontier = Frontier()
        self.port, self.seed = port, seed
        self.streams: list[Stream] = []  # those that are open, in their order
        self.asked: list[Callable[[], object]] = []  # what waits for each question
        self.ordered: set[str] = set()  # scopes with one thread or task at a time
        self._buffer: list[Pending] = []
        self._cuts: list[tuple[int, Flow]] = []
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
        return self.port.hide(remembered(text, self.memory))

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: a run does not travel."""
        self.owner.refuse_travel()

    def descend(self, parent: RunState) -> None:
        """Become a child of *parent*: stop when it stops, with the same fence."""
        self.parent, self.ancestors = parent, (parent.run_id, *parent.ancestors)
        self.memory, self.fatal.above = parent.memory, parent.fatal
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
        held: bool = False,
    ) -> Handle:
        """State a fact in *scope*; see `Run.record`."""
        self.owner.require()
        prepared = self.port.validate(kind, data, series)
        first = self.draft(prepared, Place(self.run_id, scope), subjects)
        prepared = detached(first)  # nothing marks it any more: its bytes are written
        with self.lock:
            self.require_going(scope)
            self.mode.require_own(scope, data, prepared)
            item = self.mode.fact(self, scope, kind, data, prepared)
            self.digest.add(scope, kind, prepared)
            if item is not None and item.event.run == self.run_id:
                return Handle(self, item.event, known=True)
            handle = Handle(self, known=item is not None)
            if self.mode.writes:
                place = Place(self.run_id, scope, self.next_ordinal(scope))
                self.take_parts()
                draft = first.moved(prepared, place)
                self._buffer.append(Pending(draft, handle, held))
            return handle

    def read_clock(
        self, scope: str, moment: str
    ) -> tuple[Mapping[str, object], Event | None]:
        """State that the clock was read; return the reading, and its recorded event."""
        self.owner.require()
        with self.lock:
            told = self.mode.clock(scope, moment)
            return told, self.record(scope, "clock.read", told).written

    def pause(self, scope: str, reason: str, *, everywhere: bool = False) -> None:
        """Stop here until the run is resumed, unless the record passed this pause.

        Lanes that are at once go on, unless the pause is for all of them, *everywhere*.
        """
        with self.lock:
            stated = self.record(scope, "pause.stated", {"reason": reason})
            if not stated.known and not self.mode.replays:
                for one in self._buffer:  # what came to a pause is past it
                    place = one.draft.place
                    there = "" if place is None else place.scope
                    if everywhere or self.stops_with(scope, there):
                        one.held = False
                paused = self.privacy.pause(scope, reason)
                raise self.stop("" if everywhere else scope, paused)

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
                refused = self.draft(prepared, place)
                self._buffer.append(Pending(refused, Handle(self)))
        return AppendRefused.by_plugin(plugin, reason)

    # -- draws ---------------------------------------------------------------------

    def draw_float(self, scope: str) -> float:
        """Return the next number of *scope*, 53 bits from the run's seed."""
        return as_float(self._draw(scope, "random"))

    def draw_uuid(self, scope: str) -> UUID:
        """Return the next UUID (version 4) of *scope* from the run's seed."""
        return as_uuid(self._draw(scope, "uuid"))

    def draw_seed(self, scope: str) -> str:
        """Return the seed of the next child that *scope* calls; a resume gives it, too."""
        return self._draw(scope, "child")[:16].hex()

    def _draw(self, scope: str, what: str) -> bytes:
        self.owner.require()
        with self.lock:
            count = self._draws.get((scope, what), 0)
            self._draws[scope, what] = count + 1
        return drawn(self.seed, what, scope, count, self.mode.salt(self, scope))

    # -- the end ---------------------------------------------------------------------

    def require_concluded(self) -> None:
        """Raise what stopped the run, what nobody may swallow, or what is undecided."""
        self.require_going()
        self.fatal.raise_first()
        for decide in self.asked:
            decide()
        if self.left:
            raise self.halt(self.left[0])

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
        """Return *prepared* as an event at *place*, which says whether it is private."""
        self.privacy.mark(prepared, place)
        return Draft(prepared, self.actor, self.tenant, place, subjects, self._shared)

    def write(self, last: Draft | None = None) -> Event:
        """Write the buffer and *last* in one commit; return the last event."""
        self.owner.require()
        if self.ended:
            raise self.owner.ended()
        self.take_parts()
        waiting, later = parted(self._buffer, self.waits)
        self._buffer, self._cuts = later, []
        drafts = [one.draft for one in waiting] + ([] if last is None else [last])
        try:
            events = self.port.commit(drafts, self.fence)
        except RunFenced as error:
            self.halt(error)
            raise
        except MunimentError:
            self._buffer = [*waiting, *later]
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
        """Drop what is written only if the run continues."""
        self._buffer = left_by_interruption(self._buffer, self._cuts)

    def cut_off(self) -> None:
        """Notice that an effect of this thread or task was cut off without an outcome."""
        with self.lock:
            self._cuts.append((len(self._buffer), flow()))

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
