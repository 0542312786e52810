"""The event types and the effect kind that evals add to the kernel's vocabulary.

    eval.started        {"suite": "parser", "digest": "sha256:…", "cases": 12, "runs": 12}
    eval.requested      {"request": {"suite": "sha256:…", "reads": [{"run": "01JD…", …}]}}
    eval.completed      what was read: views of runs, by digest
    eval.case_finished  {"case": "parser-1", "run": "01JD…", "verdict": "failed", …}
    eval.compared       {"better": 3, "worse": 1, "unchanged": 8, "p_value": 0.625, …}
    eval.concluded      {"verdict": "failed", "passed": 11, "failed": 1, …}

Rules:

- The verdict is recomputed in a replay from what was read, and compared with these facts.
- What a case says of contents is a digest, or whether something was in there. Words about
  failures may quote what a suite wants to see, so they are kept apart where they are long.
"""

from __future__ import annotations

from typing import Annotated

from muniment.events.effect_kinds import EffectKind
from muniment.events.types import LARGE, EventType, PlainData

__all__ = ["KINDS", "TYPES", "EvalFact"]

Free = dict[str, object]


class EvalStarted(PlainData):
    """Runs are held against a suite."""

    suite: str
    """The name of the suite."""
    digest: str
    """SHA-256 of its canonical normal form, which the run's params have."""
    cases: int
    """How many cases it has."""
    runs: int
    """How many runs are held against them, each counted for each of its cases."""
    against: int = 0
    """How many of these are what the others are compared with."""


class CaseFinished(PlainData):
    """A run was held against a case; the event is about the run's last event."""

    case: str
    run: str
    verdict: str
    """``passed``, ``failed`` or ``cannot_tell``."""
    severity: str
    """``blocking``, ``warning`` or ``informational``."""
    compared: int
    """How many comparisons were made."""
    proves: int
    """How many of these held and prove something."""
    self_derived: bool = False
    """Whether the fixture was made of the very run."""
    against: bool = False
    """Whether the run is one that others are compared with."""
    failures: Annotated[list[str], LARGE] = []
    undecided: Annotated[list[str], LARGE] = []
    """What could not be compared, and why; the mark of a run that nobody can certify."""
    verified: int = 0
    """How many events of the run, and of those that it called, were verified before."""


class SetsCompared(PlainData):
    """Two sets of runs were paired by case."""

    verdict: str
    """``better``, ``worse`` or ``undecided``: what the pairs show."""
    pairs: int
    better: int
    worse: int
    unchanged: int
    undecided: int
    """Pairs of which a side could not be told."""
    unpaired: int
    """Cases that only one side has."""
    p_value: float | None = None
    """Of the exact sign test, two-sided; None without a pair that differs."""
    result: Annotated[Free, LARGE]
    """The whole comparison."""


class EvalConcluded(PlainData):
    """An eval came to its verdict."""

    verdict: str
    total: int
    passed: int
    failed: int
    cannot_tell: int
    warnings: int
    """How many cases that are not blocking did not pass."""
    blocking: int = 0
    """How many are: without one, a pass says little."""
    compared: int
    """How many comparisons were made in all."""
    verified: int = 0
    """How many events of judged runs were verified before they were read."""


class EvalFact(dict[str, object]):
    """The data of a fact that an eval states: the types below take no other."""

    __slots__ = ()


_OWN = f"{EvalFact.__module__}:{EvalFact.__qualname__}"

TYPES = (
    EventType("eval.started", EvalStarted, own=_OWN),
    EventType("eval.case_finished", CaseFinished, own=_OWN),
    EventType("eval.compared", SetsCompared, own=_OWN),
    EventType("eval.concluded", EvalConcluded, own=_OWN),
)

KINDS = (
    # It reads the ledger, and changes nothing.
    EffectKind(
        "eval",
        source="data",
        magnitude="low",
        on_doubt="repeat",
        fault="muniment_plugins.evals.engine.program:eval_fault",
    ),
)
