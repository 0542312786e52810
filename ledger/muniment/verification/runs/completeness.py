"""The completeness of runs: each proves its own, and this recounts it.

    run.completed   data: {"counts": {"": 4, "map/0": 2}, "root": "<64 hex>", …}

Rules:

- ``root`` of ``run.completed`` and ``run.failed`` covers every event of the run before
  that one: it is the RFC 6962 root over their leaf hashes in the order of the log.
- ``counts`` says how many there are per scope; it may be left out if it would take more
  than 32 KiB, and in ledgers of version 1 of the events.
- A run completes once, or is canceled once, and no lifecycle event follows. A failed,
  paused or interrupted run may be resumed and continues counting.
- From version 2 of the events on nothing else follows an end either, except statements
  about a run from outside it: `AFTER_END`, and the judgement of another run.
- From that version on each event has its place in the run:
  `muniment.verification.runs.places`.
- Of a run with a final end only that end and the next free ordinal are kept; that
  bounds the memory used here. A run without an end is *open*, which is not wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from muniment.encoding.canonical import canonical
from muniment.format_versions import (
    COUNTED_ENDS,
    DECISIONS,
    FINAL_ENDS,
    FORMATS,
    OWN_PLACES,
)
from muniment.formats.decisions import OF_PROGRAMS
from muniment.formats.lifecycle import (
    CANCELED,
    COMPLETED,
    CONCLUDED,
    ENDS,
    FINAL,
    LIFE,
    OPEN,
    RESUMED,
    UNFINISHED,
)
from muniment.formats.merkle import Frontier
from muniment.verification.report import Findings
from muniment.verification.runs.places import AFTER_END, OF_RUNS, Places

__all__ = ["Runs"]

_NOT_KEPT = "the writer did not keep to its run; ask who wrote it"

_LARGEST_COUNTS = 32 * 1024


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
        self._done: dict[str, tuple[int, str]] = {}
        """The runs with a final end: the least ordinal that no event has, and the end."""
        self.version = FORMATS["event"]
        """The version of the events, as the genesis states it."""
        self.ends = self.compared = 0
        """How many ends carry a root, and how many of those were compared."""

    def add(
        self, seq: int, run: str, scope: str, kind: str, data: Any, leaf: bytes
    ) -> None:
        """Count the event, or compare the counts if it ends its run."""
        if run in self._done:
            self._follow(seq, run, kind, data, self._done[run][1])
            return
        state = self._runs.get(run)
        if state is None:
            state = self._runs[run] = _Run()
            state.places.seen = True  # by an event that could not be placed
        if state.ended:
            self._follow(seq, run, kind, data, state.ended)
        if kind in CONCLUDED:
            self.ends += 1
            if not self._fast:
                self._compare(seq, state, data)
        if kind in ENDS:
            state.ended = kind
        elif kind == RESUMED:
            state.ended = ""
        if kind in FINAL:
            self._done[run] = self._runs.pop(run).places.free, kind
        elif not self._fast:
            state.counts[scope] = state.counts.get(scope, 0) + 1
            state.tree.append(leaf)

    def place(self, seq: int, run: str, chain: Any, kind: str, data: Any) -> None:
        """Report what is wrong with the event's place in its run."""
        if self._fast or self.version < OWN_PLACES:
            return
        done = self._done.get(run)
        if done is not None and not kind.startswith(AFTER_END):
            return  # being there at all is wrong
        if done is not None:
            places = Places.ended(done[0])
        else:
            state = self._runs.get(run) or self._runs.setdefault(run, _Run())
            places = state.places
        for rule, what in places.broken(chain, kind, data, self.version):
            self._findings.add("run", rule, what, seq=seq, remedy=_NOT_KEPT)
        if done is not None:
            self._done[run] = places.free, done[1]

    def asked(self, run: str, place: tuple[str, int], kind: str) -> bool:
        """Tell whether an effect of that *kind* of outcome was requested at *place*."""
        state = self._runs.get(run)
        return state is not None and state.places.asked(place, kind)

    def outside(self, seq: int, kind: str) -> None:
        """Report an event of a run that is in none: nothing of it could be compared."""
        if not self._fast and self.version >= OF_RUNS[kind]:
            what = f"{kind} is in no run"
            self._findings.add("run", "run/order", what, seq=seq, remedy=_NOT_KEPT)

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
        """Report an event that is after the *end* of its run and may not be."""
        stated = self.version >= DECISIONS and kind in OF_PROGRAMS
        told = kind in ("replay.judged", CANCELED)
        if kind.startswith(AFTER_END) and not (told or stated):
            return
        if end in FINAL:
            self.ends += kind in CONCLUDED
            older = self.version < FINAL_ENDS and end == COMPLETED
            allowed = older and kind not in LIFE
        else:
            allowed = self.version < FINAL_ENDS or kind in {RESUMED, CANCELED}
        judged = kind == "replay.judged" and data.get("replay_of") != run
        if not allowed and not judged:
            what = f"{kind} comes after {end} of its run"
            remedy = "the first end counts; ask who wrote what follows it"
            self._findings.add("run", "run/after-end", what, seq=seq, remedy=remedy)

    def _add(self, seq: int, rule: str, message: str) -> None:
        remedy = "an event of the run was left out; ask for it"
        self._findings.add("run", rule, message, seq=seq, remedy=remedy)

    def open(self) -> Iterable[str]:
        """Return the runs without an end, in the order in which they started."""
        return (
            run
            for run, state in self._runs.items()
            if ENDS.get(state.ended, OPEN) in UNFINISHED
        )
