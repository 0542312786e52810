"""Forks, compared with the runs that answered them.

    run.started      data: {"fork": {"run": …, "at": 12, "leaf": …, "changes": […]}}
    tool.completed   data: {"answered_by": {"who": "record", "seq": 9, "leaf": …, …}}

Rules:

- The event ``at`` is of the named run, before the fork, and has that leaf hash. Name,
  params, labels, tenant and seed are equal. Changes name outcomes of that run up to
  ``at``, by number and leaf hash.
- An answer from the record names the outcome of the same request there, the n-th for the
  n-th, and both say the same: type, tenant, version, subjects, series and every member of
  the data but how long it took. Each outcome answers once, and nothing was streamed.
- A changed answer names a declared change, and has the value declared for it.
- What the origin answers is answered by it, until a change or a failure that a resume
  performed again let the program take another path: `ForkState`.
- What names an origin or an answer has exactly the members of the format, of exactly
  their types. Nothing is converted: other readers would read it otherwise. In the start,
  *fast* judges that, too.
- Contents are compared without their salts. One that is gone is not compared, and
  counts as erased: `muniment.verification.contents` says whether it may be gone.
- The origin is in the same ledger, which loses no events: one that is not there is made
  up.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, cast

from muniment.encoding.canonical import canonical, parse
from muniment.errors import MunimentError
from muniment.formats.answers import (
    CLOCK,
    FROM_RECORDS,
    PERFORMED,
    is_answer,
    is_leaf,
    names_record,
    shaped,
)
from muniment.formats.lifecycle import COMPLETED, FINAL, LIFE, RESUMED, STARTED
from muniment.verification.report import MALFORMED, Findings
from muniment.verification.runs.copies import Copies, EventCopy
from muniment.verification.runs.fork_facts import FactTally, ForkFacts
from muniment.verification.runs.fork_state import ForkedEffect, ForkState
from muniment.verification.runs.origins import (
    OUTCOMES,
    Asked,
    OriginRecord,
    is_of_plugin,
)
from muniment.verification.runs.places import KERNEL_ANSWERS
from muniment.verification.runs.references import content
from muniment.verification.snapshot import Snapshot

__all__ = ["Forks", "IsAsked"]

IsAsked: TypeAlias = Callable[[str, tuple[str, int], str], bool]
"""Tells whether an effect of a run and kind was requested at a place."""

_KEPT = 4
_OWN = ("answered_by", "duration_us")
_FIRST = ("attempt", "doubt")
_FORM = "it is not of the form that it has to be"
_ASK = "a writer made it up, or left it out; ask who wrote the fork"
_SECRETS = canonical({"secrets": True})


class Forks:
    """Compares forks with the runs from which they were forked."""

    __slots__ = (
        "_asked",
        "_copies",
        "_fast",
        "_findings",
        "_forks",
        "_known",
        "_snapshot",
        "compared",
        "facts",
        "total",
        "unchecked",
    )

    def __init__(
        self, snapshot: Snapshot, findings: Findings, asked: IsAsked, *, fast: bool
    ) -> None:
        self._snapshot = snapshot
        self._copies = Copies(snapshot)
        self._fast = fast
        self._findings = findings
        self._asked = asked
        self._forks: dict[str, ForkState] = {}
        self._known: OrderedDict[tuple[str, int], OriginRecord] = OrderedDict()
        """The records of the most recently used origins."""
        self.facts = FactTally()
        self.compared = self.total = self.unchecked = 0
        """How many starts and answers of forks were compared, and how many there are."""

    @property
    def erased(self) -> int:
        """How many contents are gone, and were not compared."""
        return self._copies.erased

    def check(self, seq: int, run: str, kind: str, statement: Any) -> None:
        """Compare the event *seq* of *run*, if it is in a fork or names an origin."""
        data = statement["predicate"]["data"]
        if self._fast:
            if kind == STARTED and "fork" in data:
                self.unchecked += 1
                if not _is_origin(data):
                    self._add(seq, "fork/origin", _FORM)
            return
        event = EventCopy.of(seq, kind, "", statement)
        if kind == STARTED:
            if "fork" in data:
                self._guarded(event, "fork/origin", self._begin, run)
            return
        fork = self._forks.get(run)
        if self._names_origin(fork, run, event):
            self._guarded(event, "fork/answer", self._answer, fork)
        elif fork is not None:
            self._follow(fork, run, event)
        if fork is not None and kind in FINAL:
            record = self._record(fork) if kind == COMPLETED else None
            self._end(run, self._forks.pop(run), seq, record)

    def finish(self) -> None:
        """Judge the forks that have no final end."""
        while self._forks:
            self._end(*self._forks.popitem())

    def _end(
        self,
        run: str,
        fork: ForkState,
        seq: int = 0,
        record: OriginRecord | None = None,
    ) -> None:
        """Report what *fork* lacks; with its origin's *record*, it completed."""
        for at, found in fork.lacks(seq, record):
            self._add(at, "fork/answer", found)
        if note := fork.facts.note(run, fork.origin):
            self._findings.notes.append(note)

    def _follow(self, fork: ForkState, run: str, event: EventCopy) -> None:
        """Take an event of a fork that its origin did not answer."""
        verb = event.kind.rpartition(".")[2]
        try:
            if event.kind == RESUMED:
                fork.resumed = event.seq
            elif event.kind == CLOCK:
                if due := fork.read(event, self._record(fork)):
                    found = f"event {due.seq} of the run that it follows answers it"
                    self._add(event.seq, "fork/answer", found)
            elif verb == "requested":
                if found := fork.request(event, self._record(fork)):
                    self._add(event.seq, "fork/answer", found)
            elif verb in ("streamed", *OUTCOMES) and self._asked(
                run, event.place, event.kind
            ):
                fork.performed(event)
            elif event.kind not in LIFE:
                fork.state(event, self._record(fork), self._copies)
        except (*MALFORMED, MunimentError):
            return  # the event itself is a finding

    def _names_origin(self, fork: ForkState | None, run: str, event: EventCopy) -> bool:
        """Tell whether an event says that another run's record answered it."""
        if "answered_by" not in event.data:
            return False
        kind, by = event.kind, event.data["answered_by"]
        verb = kind.rpartition(".")[2]
        asked = verb in OUTCOMES and (
            event.place in fork.effects
            if fork is not None
            else self._asked(run, event.place, kind)
        )
        if kind == CLOCK or names_record(by):
            return True
        if not (asked or kind in KERNEL_ANSWERS):
            return False  # a plugin says what it means by that
        if type(by) is not dict:
            return True
        who = cast("dict[str, Any]", by).get("who")
        return who in FROM_RECORDS or (
            fork is not None and asked and who not in PERFORMED
        )

    def _guarded(self, event: EventCopy, rule: str, check: Any, *what: Any) -> None:
        """Call *check*; data of the wrong form is a finding."""
        self.total += 1
        try:
            found: str = next(check(event, *what), "")
        except (*MALFORMED, MunimentError):
            found = _FORM
        if found:
            self._add(event.seq, rule, found)
        self.compared += 1

    def _add(self, seq: int, rule: str, found: str) -> None:
        self._findings.add("run", rule, found, seq=seq, remedy=_ASK)

    def _begin(self, event: EventCopy, run: str) -> Iterator[str]:
        """Add a fork; yield what is wrong with it."""
        data, told = event.data, event.data["fork"]
        if not _is_origin(data):
            yield _FORM
            return
        origin, at, leaf = told["run"], told["at"], told["leaf"]
        changes = {one["seq"]: one["leaf"] for one in told["changes"]}
        facts = ForkFacts(self.facts)
        fork = ForkState(origin, at, changes, data.get("changed"), facts)
        self._forks[run] = fork
        if (origin == run) or at >= event.seq:
            yield "it says that it is a fork of what comes after it"
        if ("fork", leaf) not in event.told:
            yield "it is not about the event that it follows"
        row = self._snapshot.connection.execute(
            "SELECT run, hash FROM event WHERE seq = ?", (at,)
        ).fetchone()
        if row is None or row[0] != origin or bytes(row[1]).hex() != leaf:
            yield f"event {at} is not the one of run {origin!r:.60} that it names"
        start = self._record(fork).start
        if start is None or start.data.get("seed") != data.get("seed"):
            yield "it draws its numbers from another seed than the run that it follows"
        elif not self._begins_alike(event, start):
            yield "it has another name, params, labels or tenant than its origin"
        yield from self._wrong_changes(fork, told["changes"])

    def _begins_alike(self, event: EventCopy, start: EventCopy) -> bool:
        labels: list[Any] = [one.data.get("labels", {}) for one in (event, start)]
        tenants = [one.chain["tenant"] for one in (event, start)]
        named = all(
            self._copies.equal(event.data, start.data, one)
            for one in ("name", "params")
        )
        return named and labels[0] == labels[1] and tenants[0] == tenants[1]

    def _wrong_changes(self, fork: ForkState, told: list[Any]) -> Iterator[str]:
        """Yield which change names no outcome of the origin."""
        if list(fork.changes) != sorted(fork.changes) or len(told) != len(fork.changes):
            yield "its changes are not in the order of the events that they change"
        known = self._record(fork).outcomes
        for changed, leaf in fork.changes.items():
            there = known.get(changed)
            if there is None or there.outcome is None or there.outcome.leaf != leaf:
                yield f"it changes event {changed}, which is no outcome up to {fork.at}"
        values = content(self._snapshot, fork.changed)
        if fork.changes and values is not None:
            parsed = parse(values)
            if not isinstance(parsed, list) or len(parsed) != len(fork.changes):
                yield "it has not as many other values as it changes outcomes"

    def _answer(self, event: EventCopy, fork: ForkState | None) -> Iterator[str]:
        """Yield what is wrong with an answer."""
        by, kind = event.data["answered_by"], event.kind
        if not is_answer(by):
            yield f"{kind} does not say what answered it as it has to"
        elif fork is None:
            yield f"{kind} is answered from a record, and its run is no fork"
        elif is_of_plugin(event.place[0]):
            yield f"{kind} is in a plugin's lane: no record answers there"
        elif kind == CLOCK:
            yield from self._wrong_clock(fork, event)
        elif not fork.awaits(event):
            yield f"{kind} is no outcome of what was asked here: no record answers it"
        else:
            effect = fork.answer(event, by["seq"])
            asked = self._record(fork).outcomes.get(by["seq"])
            there = None if asked is None else asked.answer
            if by["run"] != fork.origin or there is None or there.leaf != by["leaf"]:
                yield f"{kind} names no answer up to event {fork.at} of its origin"
            elif there.place[0] != event.place[0]:
                yield f"{kind} names an answer of the scope {there.place[0]!r:.80}"
            else:
                yield from self._wrong_request(effect, event, cast("Asked", asked))
                yield from self._wrong_answer(fork, event, there)

    def _wrong_clock(self, fork: ForkState, event: EventCopy) -> Iterator[str]:
        """Yield how a reading differs from what the origin read."""
        by, record = event.data["answered_by"], self._record(fork)
        known = record.clocks.get(event.place[0], [])
        due = fork.read(event, record)
        there = next((one for one in known if one.seq == by["seq"]), None)
        named = by["run"] == fork.origin and by["who"] == "record"
        if not named or there is None or there.leaf != by["leaf"]:
            yield f"{event.kind} names no reading up to event {fork.at} of its scope"
        elif due is not None and due is not there:
            yield f"it repeats event {there.seq}, and event {due.seq} is the next one"
        elif differs := self._copies.differs(event, there, _OWN):
            yield f"it has another {differs} than the reading that it names"

    def _wrong_request(
        self, effect: ForkedEffect, event: EventCopy, asked: Asked
    ) -> Iterator[str]:
        """Yield why an answer is not one to what was asked."""
        kind, seq = event.kind, event.data["answered_by"]["seq"]
        if effect.twice or (effect.due is not None and effect.due != seq):
            yield f"{kind} is answered with the answer to another request"
        if effect.again or _is_further(effect.request):
            yield f"{kind} answers a further attempt: a record answers the first one"
        if effect.streamed:
            yield f"{kind} is answered by a record, and nothing of it was streamed"
        if differs := self._copies.differs(effect.request, asked.request, _FIRST):
            yield f"{kind} is answered with the answer to another request: its {differs}"

    def _wrong_answer(
        self, fork: ForkState, event: EventCopy, there: EventCopy
    ) -> Iterator[str]:
        """Yield what differs from the event *there* that answered."""
        kind, declared = event.kind, there.seq in fork.changes
        if event.data["answered_by"]["who"] != ("change" if declared else "record"):
            yield f"{kind} is changed where that is not declared, or not where it is"
        elif declared:
            yield from self._wrong_value(fork, event, there)
        elif kind != there.kind:
            yield f"{kind} is of another type than the event that it names"
        elif differs := self._copies.differs(event, there, _OWN):
            yield f"{kind} has another {differs} than the event that it names"

    def _wrong_value(
        self, fork: ForkState, event: EventCopy, there: EventCopy
    ) -> Iterator[str]:
        """Yield how a changed answer is not the declared one."""
        kind, data = event.kind, event.data
        if kind != f"{there.kind.rpartition('.')[0]}.completed":
            yield f"{kind} is no changed value"
        secret = "about" in data
        more = data.keys() - {"about", "value", *_OWN}
        if more or (secret and canonical(data["about"]) != _SECRETS):
            yield f"{kind} says more than the value that was declared"
        if differs := self._copies.beside(event, there):
            yield f"{kind} has another {differs} than the event that it names"
        declared, given = (
            content(self._snapshot, fork.changed),
            content(self._snapshot, data.get("value")),
        )
        if declared is None or given is None:
            self._copies.erased += 1
            return
        at = list(fork.changes).index(there.seq)
        value = cast("list[Any]", parse(declared))[at]
        if canonical(value) != given:
            yield f"{kind} has another value than the one that was declared"
        held = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        if secret and not held.get("secrets"):
            yield f"{kind} says that its value had secrets, and it has none"

    def _record(self, fork: ForkState) -> OriginRecord:
        """Return the record that answers *fork*."""
        key = fork.origin, fork.at
        if key not in self._known:
            self._known[key] = OriginRecord(self._snapshot, self._copies, *key)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return self._known[key]


def _is_origin(data: Any) -> bool:
    """Tell whether the data of a start say what it is a fork of as they have to."""
    told = data["fork"]
    if not shaped(told, {"run": str, "at": int, "leaf": str, "changes": list}):
        return False
    changes = told["changes"]
    return (
        is_leaf(told["leaf"])
        and all(shaped(one, {"seq": int, "leaf": str}) for one in changes)
        and all(is_leaf(one["leaf"]) for one in changes)
        and (changes != []) == ("changed" in data)
    )


def _is_further(request: EventCopy) -> bool:
    """Tell whether a request says that it is not the first one."""
    attempt = request.data.get("attempt", 1)
    return type(attempt) is not int or attempt != 1 or "doubt" in request.data
