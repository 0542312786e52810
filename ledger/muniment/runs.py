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
from dataclasses import dataclass, replace
from typing import NoReturn, TypeVar
from uuid import UUID

from muniment.batch import Draft, detached
from muniment.blobs import Shared
from muniment.canonical import JsonValue, canonical
from muniment.comparing import Digest, comparable, first_difference, is_compared
from muniment.divergence import Divergence
from muniment.errors import MunimentError, RunFenced, UsageError
from muniment.event_types import Prepared
from muniment.events import Event, Place, Subject
from muniment.merkle import Frontier
from muniment.recorded import Item, Recorded
from muniment.run_owner import RunOwner
from muniment.seams import Port, Stream
from muniment.store import Fence

__all__ = ["Handle", "Recording"]

E = TypeVar("E", bound=BaseException)

COUNTS = 32 * 1024
"""The size in bytes up to which the end of a run says how many events a scope has."""

ROUNDS = 8
"""How often observers may state facts of the facts that they stated."""

UNREFUSED = frozenset({"run.failed", "run.interrupted"})
"""That something went wrong is written whatever plugins say."""


@dataclass(slots=True)
class Handle:
    """A fact that was recorded; its event exists once it was written."""

    recording: Recording
    written: Event | None = None

    @property
    def event(self) -> Event:
        """The event, writing what is buffered first.

        Raises:
            UsageError: the run is dry, or its record holds no such fact.

        """
        if self.written is None:
            self.recording.flush()
        if self.written is None:
            mode = self.recording.mode
            raise UsageError(f"a {mode} run writes no events", rule=f"run/{mode}")
        return self.written


@dataclass(slots=True)
class Pending:
    """A fact in the buffer, parts of a stream, or an outcome."""

    draft: Draft
    handle: Handle | None = None
    held: bool = False
    """Whether it stands only if the run goes on."""


class Recording:
    """The state of one run in one process; lanes are handles on it."""

    compared: int = 0
    fence: Fence | None = None
    permit: Callable[[], AbstractContextManager[object]] | None = None
    guards: tuple[str, ...] | None = None
    """What a program keeps itself from in a replay, where that is its own affair."""
    decide: Callable[[str, object], str] | None = None
    """``repeat`` or ``refuse`` for a doubtful effect, by its kind and request."""
    witness: Callable[[list[object]], None] | None = None
    """Is told what the program does, where another process judges it."""
    strict: bool = True
    """Whether a fact that the record lacks diverges while others still wait."""
    tolerant: bool = False
    """Whether a fact that diverges is only reported."""
    halted: BaseException | None = None
    """What stopped the run; a program that swallows it gets it again."""
    ended: bool = False
    ending: bool = False
    """Only the end itself is to be written any more."""

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
        self.owner = RunOwner(run_id)
        self.tenant, self.actor = tenant, actor
        self.record_of = record
        self.digest = Digest()
        self.memory: dict[str, object] = {}
        """What plugins remember for as long as the run lasts."""
        self.secret_since: int | None = None
        """How many differences there were when a secret was answered without itself."""
        self.divergences: list[Divergence] = []
        self.gaps: list[Divergence] = []
        """What the record says that it lacks."""
        self.counts: dict[str, int] = {}
        self._frontier = Frontier()
        self.port = port
        self.seed = seed
        self.writes = mode in ("live", "resume")
        self.streams: list[Stream] = []
        """Those that are open, in the order in which they began."""
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

    def redacted(self, text: str) -> str:
        """Return *text* without the secrets that plugins remember, by their `redacted`."""
        text = text.encode("utf-8", "backslashreplace").decode()
        for one in [*self.memory.values()]:
            hide = getattr(one, "redacted", None)
            text = text if hide is None else str(hide(text))
        return text

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: a run does not travel."""
        self.owner.refuse_travel()

    # -- facts ---------------------------------------------------------------------

    def record(
        self,
        scope: str,
        kind: str,
        data: Mapping[str, object],
        subjects: tuple[Subject, ...] = (),
    ) -> Handle:
        """State a fact in *scope*; see `Lane.record`."""
        self.owner.require()
        place = Place(self.run_id, scope)
        draft = detached(self.draft(self.port.validate(kind, data), place, subjects))
        facts = {} if self.record_of is None else comparable(draft.prepared)
        with self.lock:
            self.require_going()
            self.tell("fact", scope, kind, draft.prepared)
            item = self.recorded_fact(scope, kind, facts)
            if item is None and self.mode != "dry":
                self.port.admit(kind, data, self.run_id)
                self.refuse_other_fact(scope, kind, facts)
            self.digest.add(scope, kind, draft.prepared)
            if item is not None:
                return Handle(self, item.event)
            handle = Handle(self)
            if self.writes:
                place = replace(place, ordinal=self.next_ordinal(scope))
                self.take_parts()
                self._buffer.append(Pending(replace(draft, place=place), handle))
            return handle

    def recorded_fact(
        self, scope: str, kind: str, facts: dict[str, JsonValue]
    ) -> Item | None:
        """Use up the recorded fact that equals this one; None where there is none."""
        record = self.record_of
        item = None if record is None else record.fact(scope, kind, facts)
        self.compared += item is not None and is_compared(scope)
        return item

    def refuse_other_fact(
        self, scope: str, kind: str, facts: dict[str, JsonValue]
    ) -> None:
        """Diverge by a fact that the record lacks, unless it may be a lost one.

        What a performer states is its own affair. In a resume, facts that wait may
        belong to a parallel task while the buffer with this one was lost.
        """
        record = self.record_of
        if record is None or not is_compared(scope):
            return
        if self.mode != "replay" and not (self.strict and record.has_facts(scope)):
            return
        expected = record.next_in(scope, effect=False)
        found = self.difference(expected, scope, kind, facts)
        if not self.tolerant:
            self.report(found)
        self.divergences.append(found)
        if expected is not None and expected.event.type == kind:
            record.use(expected)

    # -- draws ---------------------------------------------------------------------

    def draw_float(self, scope: str) -> float:
        """Return the next number of *scope*, 53 bits from the run's seed."""
        return (int.from_bytes(self._draw(scope, "random")[:7]) >> 3) / 2**53

    def draw_uuid(self, scope: str) -> UUID:
        """Return the next UUID (version 4) of *scope* from the run's seed."""
        return UUID(bytes=self._draw(scope, "uuid")[:16], version=4)

    def _draw(self, scope: str, what: str) -> bytes:
        self.owner.require()
        with self.lock:
            count = self._draws.get((scope, what), 0)
            self._draws[scope, what] = count + 1
        message = f"{what}\0{scope}\0{count}".encode()
        return hmac.digest(self.seed.encode(), message, hashlib.sha256)

    # -- divergence ----------------------------------------------------------------

    def tell(self, *what: object) -> None:
        """Tell the witness, if there is one; of a fact, its data as it is compared."""
        if self.witness is not None:
            self.witness(
                [comparable(one) if isinstance(one, Prepared) else one for one in what]
            )

    def difference(
        self, expected: Item | None, scope: str, kind: str, got: dict[str, JsonValue]
    ) -> Divergence:
        """Return how what the program stated or asked differs from what was expected."""
        record = self.record_of
        if expected is None or record is None:
            return Divergence("extra", scope, None, "type", None, kind)
        seq, was = expected.event.seq, expected.event.type
        if was != kind:
            return Divergence("type", scope, seq, "type", was, kind)
        data: JsonValue = record.data(expected.event)
        difference = first_difference(data, got) or ("data", data, got)
        what = "effect" if expected.kind else "fact"
        return Divergence(what, scope, seq, *difference)

    def report(self, found: Divergence) -> NoReturn:
        """Keep *found*, and stop the program with it."""
        self.divergences.append(found)
        raise self.halt(found.error(self.run_id))

    def answer_secret(self) -> None:
        """Take note that from here on a difference may come of a secret's absence."""
        if self.secret_since is None:
            self.secret_since = len(self.divergences)

    def halt(self, error: E) -> E:
        """Remember the first *error* that nothing may follow; return it to be raised."""
        self.halted = self.halted or error
        return error

    def require_going(self) -> None:
        """Raise again what stopped the run, or refuse once it ended."""
        self.owner.require()
        if self.halted is not None:
            raise self.halted
        if self.ended or self.ending:
            raise self.owner.ended()

    # -- writing -------------------------------------------------------------------

    def flush(self) -> None:
        """Write what is buffered; durable on return."""
        self.owner.require()
        with self.lock:
            self.take_parts()
            if self._buffer:
                self.write()

    def close_streams(self) -> None:
        """Write the outcomes of streams that are open when the run ends."""
        for stream in tuple(self.streams):
            stream.close()

    def take_parts(self) -> None:
        """Put what streams handed on behind what is buffered."""
        drafts = [stream.draft() for stream in self.streams] if self.writes else []
        self._buffer += [Pending(one) for one in drafts if one is not None]

    def drain(self) -> None:
        """Write what is buffered, and what observers state of it, before the end."""
        self.owner.require()
        with self.lock:
            for _ in range(ROUNDS):
                self.flush()
            if self._buffer:
                self.ending = True  # they would go on for ever
                self.flush()

    def write_lifecycle(self, kind: str, data: Mapping[str, object]) -> Event:
        """Write an event of the run itself, after everything that is buffered."""
        prepared = self.port.validate(kind, data)
        if kind not in UNREFUSED:
            self.port.admit(kind, data, self.run_id)
        return self.write_prepared(prepared)

    def write_prepared(self, prepared: Prepared) -> Event:
        """Write an event of the run itself that was prepared already."""
        self.owner.require()
        with self.lock:
            place = Place(self.run_id, "", self.next_ordinal(""))
            return self.write(self.draft(prepared, place))

    def completeness(self) -> dict[str, object]:
        """Return the root over all events of the run so far, and counts per scope.

        The root alone is proof; the counts, which say more, have to fit beside it.
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
            # It may have been committed or not: only a resume can tell.
            self.halt(error)
            raise
        for pending, event in zip(waiting, events, strict=False):
            if pending.handle is not None:
                pending.handle.written = event
        for event in events:
            self._count(event)
        if self.fence is not None:  # nobody took over before the last of these
            self.fence = Fence(self.run_id, events[-1].seq)
        self.port.tell(events)
        return events[-1]

    def hold(self, outcome: Draft) -> None:
        """Write *outcome* with the next write, unless the run is interrupted first."""
        self._buffer.append(Pending(outcome, held=True))

    def drop_held(self) -> None:
        """Forget outcomes that stood only if the run had gone on."""
        self._buffer = [one for one in self._buffer if not one.held]

    def _count(self, event: Event) -> None:
        scope = event.scope or ""
        self.counts[scope] = self.counts.get(scope, 0) + 1
        self._frontier.append(bytes.fromhex(event.hash))

    def next_ordinal(self, scope: str) -> int:
        """Count one more fact or request in *scope*."""
        ordinal = self._ordinals.get(scope, 0)
        self._ordinals[scope] = ordinal + 1
        return ordinal
