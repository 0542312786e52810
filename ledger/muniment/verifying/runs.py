"""Each run proves its own completeness; this recounts it.

    run.completed   data: {"counts": {"": 4, "map/0": 2}, "root": "<64 hex>", …}

Rules:

- ``root`` of ``run.completed`` and ``run.failed`` covers every event of the run before
  that one: it is the RFC 6962 root over their leaf hashes in the order of the log.
- ``counts`` says how many there are per scope; a run of too many scopes has none.
- A failed or interrupted run may be resumed and goes on counting. A completed one is
  forgotten, which bounds what this keeps in memory.
- A run without an end is *open*, which is not wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from muniment.merkle import Frontier
from muniment.verifying.report import Findings

__all__ = ["Runs"]


class _Run:
    __slots__ = ("counts", "ended", "tree")

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.tree = Frontier()
        self.ended = False


class Runs:
    """Counts the events of every run that has not completed."""

    __slots__ = ("_done", "_fast", "_findings", "_runs", "broken")

    def __init__(self, findings: Findings, *, fast: bool) -> None:
        self._findings = findings
        self._fast = fast
        self._runs: dict[str, _Run] = {}
        self._done: set[str] = set()
        self.broken = False
        """A row was bad: counts and roots cannot be told from here on."""

    def add(
        self, seq: int, run: str, scope: str, kind: str, data: Any, leaf: bytes
    ) -> None:
        """Count the event, or compare with the count when it ends its run."""
        state = self._runs.get(run)
        if state is None:
            if run in self._done:
                return
            state = self._runs[run] = _Run()
        if kind in ("run.completed", "run.failed"):
            if not (self._fast or self.broken):
                self._compare(seq, state, data)
            state.ended = True
            if kind == "run.completed":
                del self._runs[run]
                self._done.add(run)
                return
        elif kind == "run.resumed":
            state.ended = False
        if not self._fast:
            state.counts[scope] = state.counts.get(scope, 0) + 1
            state.tree.append(leaf)

    def _compare(self, seq: int, state: _Run, data: Any) -> None:
        if data.get("counts", state.counts) != state.counts:
            what = f"the run has {state.counts} events by scope, not what its end says"
            self._add(seq, "run/counts", what)
        if data.get("root") != state.tree.root().hex():
            what = "the root over the run's events is not what its end says"
            self._add(seq, "run/root", what)

    def _add(self, seq: int, rule: str, message: str) -> None:
        remedy = "an event of the run was left out; ask for it"
        self._findings.add("run", rule, message, seq=seq, remedy=remedy)

    def open(self) -> Iterable[str]:
        """Return the runs without an end, in the order they began."""
        return (run for run, state in self._runs.items() if not state.ended)
