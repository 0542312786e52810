"""Each run proves its own completeness; this recounts it.

    run.completed   data: {"counts": {"": 4, "map/0": 2}, "root": "<64 hex>", …}

Rules:

- ``root`` of ``run.completed`` and ``run.failed`` covers every event of the run before
  that one: it is the RFC 6962 root over their leaf hashes in the order of the log.
- ``counts`` says how many there are per scope; where it would take more than 32 KiB, and
  in ledgers of version 1 of the events, it may be left out.
- A run completes once, and nothing of its life follows. A failed or interrupted run may
  be resumed and goes on counting.
- From version 2 of the events on nothing else follows an end either, but what is said of
  a run from outside it: `AFTER_END`, and the judgement of another run.
- From that version on a run begins with `run.started`, once, and each event has its
  place in the run: `muniment.verifying.places`.
- A completed run is forgotten, which bounds what this keeps in memory. A run without an
  end is *open*, which is not wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from muniment.canonical import canonical
from muniment.formats import COUNTED_ENDS, FINAL_ENDS, FORMATS, OWN_PLACES
from muniment.merkle import Frontier
from muniment.verifying.places import Places
from muniment.verifying.report import Findings

__all__ = ["AFTER_END", "Runs"]

AFTER_END = ("decision.", "policy.amended", "run.canceled")
"""What the types begin with that may be said of a run after its end."""

_LARGEST_COUNTS = 32 * 1024
_ENDS = frozenset({"run.completed", "run.failed", "run.interrupted"})
_COUNTED = frozenset({"run.completed", "run.failed"})
_LIFE = _ENDS | {"run.started", "run.resumed"}


class _Run:
    __slots__ = ("counts", "ended", "places", "tree")

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.places = Places()
        self.tree = Frontier()
        self.ended = ""
        """The type of its last end, until it is resumed."""


class Runs:
    """Counts the events of every run that has not completed."""

    __slots__ = ("_done", "_fast", "_findings", "_runs", "compared", "ends", "version")

    def __init__(self, findings: Findings, *, fast: bool) -> None:
        self._findings = findings
        self._fast = fast
        self._runs: dict[str, _Run] = {}
        self._done: set[str] = set()
        self.version = FORMATS["event"]
        """The version of the events, as the genesis states it."""
        self.ends = self.compared = 0
        """How many ends carry a root, and how many were compared with theirs."""

    def add(
        self, seq: int, run: str, scope: str, kind: str, data: Any, leaf: bytes
    ) -> None:
        """Count the event, or compare with the count when it ends its run."""
        if run in self._done:
            self._follow(seq, run, kind, data, "run.completed")
            return
        state = self._runs.get(run)
        if state is None:
            state = self._runs[run] = _Run()
        if state.ended:
            self._follow(seq, run, kind, data, state.ended)
        if kind in _COUNTED:
            self.ends += 1
            if not self._fast:
                self._compare(seq, state, data)
        if kind in _ENDS:
            state.ended = kind
        elif kind == "run.resumed":
            state.ended = ""
        if kind == "run.completed":
            del self._runs[run]
            self._done.add(run)
        elif not self._fast:
            state.counts[scope] = state.counts.get(scope, 0) + 1
            state.tree.append(leaf)

    def place(self, seq: int, run: str, chain: Any, kind: str, data: Any) -> None:
        """Say whether the place that the event has in its run is another's."""
        state = self._runs.get(run)
        if run in self._done or self._fast or self.version < OWN_PLACES:
            return
        begins = state is None
        if state is None:
            state = self._runs[run] = _Run()
        if begins != (kind == "run.started"):
            what = f"the run begins with {kind}" if begins else "the run begins again"
            self._add(seq, "run/start", what)
        broken = state.places.taken(chain["scope"], chain["ordinal"], kind, data)
        if broken:
            remedy = "the writer did not keep to its run; ask who wrote it"
            self._findings.add("run", *broken, seq=seq, remedy=remedy)

    def outside(self, seq: int, kind: str) -> None:
        """Say that an event of a run stands in none: nothing of it could be compared."""
        if not self._fast and self.version >= OWN_PLACES:
            what = f"{kind} stands in no run"
            remedy = "the writer did not keep to runs; ask who wrote it"
            self._findings.add("run", "run/order", what, seq=seq, remedy=remedy)

    def _compare(self, seq: int, state: _Run, data: Any) -> None:
        counted = data.get("counts") == state.counts
        if "counts" not in data:
            large = len(canonical({**state.counts})) > _LARGEST_COUNTS
            counted = large or self.version < COUNTED_ENDS
        rooted = data.get("root") == state.tree.root().hex()
        if not counted:
            what = f"the run has {state.counts} events by scope, not what its end says"
            self._add(seq, "run/counts", what)
        if not rooted:
            what = "the root over the run's events is not what its end says"
            self._add(seq, "run/root", what)
        self.compared += counted and rooted

    def _follow(self, seq: int, run: str, kind: str, data: Any, end: str) -> None:
        """Say that an event stands after the *end* of its run and may not."""
        if kind.startswith(AFTER_END):
            return
        if end == "run.completed":
            self.ends += kind in _COUNTED
            allowed = self.version < FINAL_ENDS and kind not in _LIFE
        else:
            allowed = self.version < FINAL_ENDS or kind == "run.resumed"
        judged = kind == "replay.judged" and data.get("replay_of") != run
        if not allowed and not judged:
            what = f"{kind} stands after {end} of its run"
            remedy = "the first end counts; ask who wrote what follows it"
            self._findings.add("run", "run/after-end", what, seq=seq, remedy=remedy)

    def _add(self, seq: int, rule: str, message: str) -> None:
        remedy = "an event of the run was left out; ask for it"
        self._findings.add("run", rule, message, seq=seq, remedy=remedy)

    def open(self) -> Iterable[str]:
        """Return the runs without an end, in the order they began."""
        return (
            run
            for run, state in self._runs.items()
            if state.ended in ("", "run.interrupted")
        )
