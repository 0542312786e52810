"""Forks, compared with the runs that answered them.

    run.started      data: {"fork": {"run": …, "at": 12, "leaf": …, "changes": […]}}
    tool.completed   data: {"answered_by": {"who": "record", "seq": 9, "leaf": …, …}}

Rules:

- The event ``at`` is of the named run, before the fork, and has that leaf hash. The
  seeds are equal. Changes name outcomes of that run up to ``at``, by number and leaf hash.
- An answer from the record names an outcome up to ``at`` that has its type, scope and
  leaf hash; the request of each attempt, and the value, have the same content as there.
  Each outcome answers once.
- A changed answer names a declared change, and has the value declared for it.
- What names an origin or an answer has exactly the members of the format, of exactly
  their types. Nothing is converted: other readers would read it otherwise. In the start,
  *fast* judges that, too.
- Contents are compared without their salts. One that is gone is not compared, and
  counts as erased: `muniment.verification.contents` says whether it may be gone.
- The origin is in the same ledger, which loses no events: one that is not there is made
  up.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, cast

from orjson import loads

from muniment.encoding.canonical import canonical, parse
from muniment.errors import MunimentError
from muniment.formats.lifecycle import FINAL, STARTED
from muniment.verification.report import MALFORMED, Findings
from muniment.verification.runs.places import KERNEL_ANSWERS
from muniment.verification.runs.references import content, same
from muniment.verification.snapshot import MAX_PAYLOAD, Snapshot

__all__ = ["Forks"]

_KEPT = 4
_VERBS = (".completed", ".failed")
_CLOCK = "clock.read"
_FROM = ("record", "change")
_HERE = ("performer", "plugin")
_LEAF = re.compile("[0-9a-f]{64}")
_FORM = "it is not of the form that it has to be"
_ASK = "a writer made it up, or left it out; ask who wrote the fork"
_ROWS = (
    "SELECT seq, type, CASE WHEN typeof(payload) = 'blob' AND length(payload) <= ? "
    "THEN payload END, hash FROM event WHERE run = ? AND seq <= ? ORDER BY seq"
)


@dataclass(slots=True)
class _Answer:
    """An event of the origin: its start, an outcome, or a reading of the clock."""

    leaf: str
    kind: str
    scope: str
    data: dict[str, Any]
    asked: Any = None
    """The reference to what was asked."""


@dataclass(slots=True)
class _Fork:
    origin: str
    at: int
    changes: dict[int, str] = field(default_factory=dict[int, str])
    changed: Any = None
    """The reference to the values of the changes."""
    asked: dict[tuple[str, int], list[Any]] = field(
        default_factory=dict[tuple[str, int], list[Any]]
    )
    """Place of an effect that has not completed → the references to its requests."""
    used: set[int] = field(default_factory=set[int])


class Forks:
    """Compares forks with the runs from which they were forked."""

    __slots__ = (
        "_fast",
        "_findings",
        "_forks",
        "_known",
        "_snapshot",
        "compared",
        "erased",
        "total",
        "unchecked",
    )

    def __init__(self, snapshot: Snapshot, findings: Findings, *, fast: bool) -> None:
        self._snapshot = snapshot
        self._fast = fast
        self._findings = findings
        self._forks: dict[str, _Fork] = {}
        self._known: OrderedDict[tuple[str, int], dict[int, _Answer]] = OrderedDict()
        """The events that can answer, of the most recently used origins."""
        self.compared = self.total = self.erased = self.unchecked = 0
        """How many starts and answers of forks were compared, and how many there are."""

    def check(self, seq: int, run: str, kind: str, statement: Any) -> None:
        """Compare the event *seq* of *run*, if it is in a fork and names its origin."""
        predicate = statement["predicate"]
        data, chain = predicate["data"], predicate["muniment"]
        fork = self._forks.get(run)
        if self._fast:
            if kind == STARTED and "fork" in data:
                self.unchecked += 1
                if not _is_origin(data):
                    self._findings.add(
                        "run", "fork/origin", _FORM, seq=seq, remedy=_ASK
                    )
            return
        if kind == STARTED:
            if "fork" in data:
                self.total += 1
                self._guarded(seq, "fork/origin", self._begin, run, statement)
            return
        place = chain["scope"], chain["ordinal"]
        if fork is not None and kind.endswith(".requested"):
            fork.asked.setdefault(place, []).append(data.get("request"))
        if self._names_origin(fork, place, kind, data):
            self.total += 1
            self._guarded(seq, "fork/answer", self._answer, fork, kind, predicate)
        if fork is not None and kind.endswith(".completed"):
            fork.asked.pop(place, None)
        if kind in FINAL:
            self._forks.pop(run, None)

    def _names_origin(
        self, fork: _Fork | None, place: tuple[str, int], kind: str, data: Any
    ) -> bool:
        """Tell whether an event says that another run's record answered it."""
        if "answered_by" not in data:
            return False
        asked = fork is not None and place in fork.asked
        if kind == _CLOCK or not (asked or kind in KERNEL_ANSWERS):
            return kind == _CLOCK
        by = data["answered_by"]
        if type(by) is not dict:
            return True
        who = cast("dict[str, Any]", by).get("who")
        return who in _FROM or (asked and kind.endswith(_VERBS) and who not in _HERE)

    def _guarded(self, seq: int, rule: str, check: Any, *what: Any) -> None:
        """Call *check*; data of the wrong form is a finding."""
        try:
            found: str = check(seq, *what)
        except (*MALFORMED, MunimentError):
            found = _FORM
        if found:
            self._findings.add("run", rule, found, seq=seq, remedy=_ASK)
        self.compared += 1

    def _begin(self, seq: int, run: str, statement: Any) -> str:
        """Add a fork; say what is wrong with it, "" for nothing."""
        data = statement["predicate"]["data"]
        told = data["fork"]
        if not _is_origin(data):
            return _FORM
        origin, at, leaf = told["run"], told["at"], told["leaf"]
        fork = _Fork(origin, at, changed=data.get("changed"))
        fork.changes = {one["seq"]: one["leaf"] for one in told["changes"]}
        self._forks[run] = fork
        if (origin == run) or at >= seq:
            return "it says that it is a fork of what comes after it"
        about = [(one["name"], one["digest"]["sha256"]) for one in statement["subject"]]
        if ("fork", leaf) not in about:
            return "it is not about the event that it follows"
        row = self._snapshot.connection.execute(
            "SELECT run, hash FROM event WHERE seq = ?", (at,)
        ).fetchone()
        if row is None or row[0] != origin or bytes(row[1]).hex() != leaf:
            return f"event {at} is not the one of run {origin!r:.60} that it names"
        known = self._answers(fork).values()
        start = next((one for one in known if one.kind == STARTED), None)
        if start is None or start.data.get("seed") != data.get("seed"):
            return "it draws its numbers from another seed than the run that it follows"
        return self._wrong_change(fork, told["changes"])

    def _wrong_change(self, fork: _Fork, told: list[Any]) -> str:
        """Say which change names no outcome of the origin; "" if all do."""
        if list(fork.changes) != sorted(fork.changes) or len(told) != len(fork.changes):
            return "its changes are not in the order of the events that they change"
        known = self._answers(fork)
        for changed, leaf in fork.changes.items():
            there = known.get(changed)
            if there is None or there.leaf != leaf or not there.kind.endswith(_VERBS):
                return (
                    f"it changes event {changed}, which is no outcome up to {fork.at}"
                )
        values = content(self._snapshot, fork.changed)
        if fork.changes and values is not None:
            parsed = parse(values)
            if not isinstance(parsed, list) or len(parsed) != len(fork.changes):
                return "it has not as many other values as it changes outcomes"
        return ""

    def _answer(self, _: int, fork: _Fork | None, kind: str, predicate: Any) -> str:
        """Say what is wrong with an answer, "" for nothing."""
        by, chain = predicate["data"]["answered_by"], predicate["muniment"]
        if not _is_answer(by):
            return f"{kind} does not say what answered it as it has to"
        if fork is None:
            return f"{kind} is answered from a record, and its run is no fork"
        known = self._answers(fork)
        there = known.get(by["seq"])
        if by["run"] != fork.origin or there is None or there.leaf != by["leaf"]:
            return f"{kind} names no answer up to event {fork.at} of the run it follows"
        if there.scope != chain["scope"]:
            return f"{kind} names an answer of the scope {there.scope!r:.80}"
        place = chain["scope"], chain["ordinal"]
        return self._compared(fork, kind, place, predicate["data"], there)

    def _compared(
        self,
        fork: _Fork,
        kind: str,
        place: tuple[str, int],
        data: dict[str, Any],
        there: _Answer,
    ) -> str:
        """Say what differs from the event *there* that answered."""
        by = data["answered_by"]
        if kind == _CLOCK:
            known = there.kind == kind and by["who"] == "record"
            equal = known and there.data.get("time") == data.get("time")
            return "" if equal else "it repeats another time than the one that it names"
        asked = fork.asked[place]
        known = all(self._equal(one, there.asked) for one in asked)
        if by["seq"] in fork.used or not known:
            return f"{kind} is answered with the answer to another request"
        fork.used.add(by["seq"])
        declared = by["seq"] in fork.changes
        if by["who"] != ("change" if declared else "record"):
            return f"{kind} is changed where that is not declared, or not where it is"
        if declared:
            return self._wrong_value(fork, kind, there, data)
        if kind != there.kind or not self._same(data, there.data):
            return f"{kind} has another value than the event that it names"
        return ""

    def _wrong_value(
        self, fork: _Fork, kind: str, there: _Answer, data: dict[str, Any]
    ) -> str:
        """Say that a changed answer is not the declared one."""
        stem = there.kind.rpartition(".")[0]
        if kind != f"{stem}.completed":
            return f"{kind} is no changed value"
        declared, given = (
            content(self._snapshot, fork.changed),
            content(self._snapshot, data.get("value")),
        )
        if declared is None or given is None:
            self.erased += 1
            return ""
        at = list(fork.changes).index(data["answered_by"]["seq"])
        value = cast("list[Any]", parse(declared))[at]
        if canonical(value) != given:
            return f"{kind} has another value than the one that was declared"
        return ""

    def _same(self, data: dict[str, Any], there: dict[str, Any]) -> bool:
        """Tell whether two outcomes say the same."""
        inline = all(data.get(n) == there.get(n) for n in ("error_type", "reason"))
        contents = ("value", "message", "data")
        return inline and all(self._equal(data.get(n), there.get(n)) for n in contents)

    def _equal(self, one: Any, other: Any) -> bool:
        """Tell whether two references have one content; so they do, if one is gone."""
        equal = same(self._snapshot, one, other)
        self.erased += equal is None
        return equal is not False

    def _answers(self, fork: _Fork) -> dict[int, _Answer]:
        """Return the events that can answer the fork, by number."""
        key = fork.origin, fork.at
        if key not in self._known:
            self._known[key] = self._read(*key)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return self._known[key]

    def _read(self, run: str, at: int) -> dict[int, _Answer]:
        found: dict[int, _Answer] = {}
        asked: dict[tuple[str, int], Any] = {}
        rows = self._snapshot.connection.execute(_ROWS, (MAX_PAYLOAD, run, at))
        for seq, kind, payload, leaf in rows:
            try:
                predicate = loads(payload)["predicate"]
                data, chain = predicate["data"], predicate["muniment"]
                place = chain["scope"], chain["ordinal"]
                if kind.endswith(".requested"):
                    asked[place] = data.get("request")
                elif kind.endswith(_VERBS) or kind in (_CLOCK, STARTED):
                    known = asked.get(place)
                    found[seq] = _Answer(leaf.hex(), kind, place[0], data, known)
            except MALFORMED:
                continue  # the row itself is a finding
        return found


def _is_origin(data: Any) -> bool:
    """Tell whether the data of a start say what it is a fork of as they have to."""
    told = data["fork"]
    if not _has(told, {"run": str, "at": int, "leaf": str, "changes": list}):
        return False
    changes = told["changes"]
    return (
        _is_leaf(told["leaf"])
        and all(_has(one, {"seq": int, "leaf": str}) for one in changes)
        and all(_is_leaf(one["leaf"]) for one in changes)
        and (changes != []) == ("changed" in data)
    )


def _is_answer(by: Any) -> bool:
    """Tell whether *by* says which event of an origin answered, as it has to."""
    return (
        _has(by, {"who": str, "run": str, "seq": int, "leaf": str})
        and by["who"] in _FROM
        and _is_leaf(by["leaf"])
    )


def _has(value: Any, members: dict[str, type]) -> bool:
    """Tell whether *value* is an object of exactly these members, of these types."""
    told = cast("dict[str, Any]", value)
    return (
        type(value) is dict
        and told.keys() == members.keys()
        and all(type(told[name]) is kind for name, kind in members.items())
    )


def _is_leaf(text: str) -> bool:
    return _LEAF.fullmatch(text) is not None
