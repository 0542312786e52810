"""Child runs, compared with the calls of their parents.

    run.started      data: {"parent": {"run": "01JD…", "root": "01JC…", "key": "9f86…"}}
    child.completed  data: {"about": {"run": "01JE…", "leaf": "…"}, "value": …}

Rules:

- A child names a run that started before it and had asked for a child, and the root of
  that run; it is about its call and its parent, by which it is found.
- A call that was performed names a run that says it is a child of this one, and the leaf
  hash of its `run.completed`, before it; the value has the content of that result. A child
  answers one call.
- Contents are compared without their salts. One that is gone is not compared:
  `muniment.verification.contents` says whether it may be gone.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, cast

from orjson import loads

from muniment.format_versions import WAITS
from muniment.formats.lifecycle import COMPLETED, FINAL, STARTED
from muniment.verification.report import MALFORMED, Findings
from muniment.verification.runs.references import same
from muniment.verification.snapshot import MAX_PAYLOAD, Snapshot

__all__ = ["ASKED", "CALLED", "Descent", "is_performed"]

CALLED = "child.completed"
"""The outcome of a call."""
ASKED = "child.requested"
"""A call."""
_ELSEWHERE = ("record", "change", "plugin")
_MEMBERS = {"key", "root", "run"}
_ASK = "a writer made it up, or left it out; ask who wrote the run"
_FIRST = (
    "SELECT CASE WHEN typeof(payload) = 'blob' AND length(payload) <= ? THEN payload END "
    "FROM event WHERE run = ? AND seq < ? ORDER BY seq LIMIT 1"
)
_LAST = (
    "SELECT CASE WHEN typeof(payload) = 'blob' AND length(payload) <= ? THEN payload END, "
    "hash FROM event WHERE run = ? AND seq < ? AND type = ? ORDER BY seq DESC LIMIT 1"
)


class Descent:
    """Compares calls of runs with the runs that they called."""

    __slots__ = (
        "_fast",
        "_findings",
        "_snapshot",
        "_taken",
        "compared",
        "erased",
        "total",
        "unchecked",
    )

    def __init__(self, snapshot: Snapshot, findings: Findings, *, fast: bool) -> None:
        self._snapshot = snapshot
        self._findings = findings
        self._fast = fast
        self._taken: dict[str, dict[str, tuple[str, int]]] = {}
        """Of each open parent: its children → the place of the call they answered."""
        self.compared = self.total = self.erased = self.unchecked = 0
        """How many children and calls were compared, and how many there are."""

    def check(
        self, seq: int, run: str, kind: str, statement: Any, version: int
    ) -> None:
        """Compare the event *seq* of *run*, if it names a child or a parent."""
        predicate = statement["predicate"]
        data = predicate["data"]
        child = kind == STARTED and "parent" in data
        if child or (kind == CALLED and is_performed(data)):
            if version < WAITS or self._fast:
                self.unchecked += self._fast and version >= WAITS
                return
            self.total += 1
            try:
                found = (
                    self._wrong_start(seq, run, statement)
                    if child
                    else self._wrong_call(seq, run, predicate)
                )
            except MALFORMED:
                found = "it is not of the form that it has to be"
            rule = "child/parent" if child else "child/result"
            if found:
                self._findings.add("run", rule, found, seq=seq, remedy=_ASK)
            self.compared += 1
        if kind in FINAL:
            self._taken.pop(run, None)

    def _wrong_start(self, seq: int, run: str, statement: Any) -> str:
        """Say what is wrong with the start of a child, "" for nothing."""
        told = statement["predicate"]["data"]["parent"]
        if {*told} != _MEMBERS or not all(type(one) is str for one in told.values()):
            return (
                "it does not name its parent, the root and its call, and nothing else"
            )
        parent = told["run"]
        above = self._first(parent, seq)
        if above is None or parent == run:
            return f"it names {parent!r:.60} as its parent, which is no run before it"
        if told["root"] != above.get("parent", {}).get("root", parent):
            return "it names another root than its parent"
        if self._last(parent, seq, ASKED) is None:
            return (
                f"it names {parent!r:.60} as its parent, which had asked for no child"
            )
        about = {one["name"]: one["digest"]["sha256"] for one in statement["subject"]}
        named = about.get("call"), about.get("parent")
        if named != (told["key"], sha256(parent.encode()).hexdigest()):
            return "it is not about its call and its parent"
        return ""

    def _wrong_call(self, seq: int, run: str, predicate: Any) -> str:
        """Say what is wrong with a call that was performed, "" for nothing."""
        data, chain = predicate["data"], predicate["muniment"]
        child, leaf = data["about"]["run"], data["about"]["leaf"]
        if type(child) is not str or (start := self._first(child, seq)) is None:
            return "it names a child of which there is no run before it"
        if start.get("parent", {}).get("run") != run:
            return f"it names {child!r:.60} as its child, which says otherwise"
        place = chain["scope"], chain["ordinal"]
        if self._taken.setdefault(run, {}).setdefault(child, place) != place:
            return f"the child {child!r:.60} answered another call"
        end = self._last(child, seq, COMPLETED)
        if end is None or end[1].hex() != leaf:
            return f"it does not name the end of its child {child!r:.60}"
        result = loads(end[0])["predicate"]["data"].get("result")
        equal = same(self._snapshot, data.get("value"), result)
        self.erased += equal is None
        return "" if equal is not False else "it has another value than its child"

    def _first(self, run: str, seq: int) -> dict[str, Any] | None:
        """Return the data of the start of *run* before the event *seq*."""
        asked = (MAX_PAYLOAD, run, seq)
        row = self._snapshot.connection.execute(_FIRST, asked).fetchone()
        if row is None:
            return None
        return dict(loads(row[0])["predicate"]["data"])

    def _last(self, run: str, seq: int, kind: str) -> tuple[bytes, bytes] | None:
        """Return payload and leaf hash of the last such event of *run* before *seq*."""
        asked = (MAX_PAYLOAD, run, seq, kind)
        row = self._snapshot.connection.execute(_LAST, asked).fetchone()
        return None if row is None else (row[0], row[1])


def is_performed(data: Any) -> bool:
    """Tell whether an outcome says that the call was performed in its own run."""
    by = data.get("answered_by")
    told = cast("dict[str, Any]", by) if isinstance(by, dict) else {}
    return told.get("who") not in _ELSEWHERE
