"""The event types that the harness adds to the kernel's words.

    experiment.registered {"experiment": "…", "plan": "sha256:…", "replicates": 3, …}
    replicate.started   {"condition": "baseline", "replicate": 0, "seed": 17…}
    execution.measured  {"level": "process", "layers": {…}, "usage": [{…}, …]}
    metrics.measured    {"replicate": 0, "metrics": {"total": 15}, "order": ["total"]}
    replicate.failed    {"replicate": 0, "step": "bounded_synthesis", "rule": "…"}
    hypothesis.unjudged {"hypothesis": "…", "error_type": "…"}

Rules: what a machine decides (its walls, its speed) is recorded and not compared; what
code printed may be anything, so it stands in a blob.
"""

from __future__ import annotations

from typing import Annotated

from muniment.event_types import BLOB, LARGE, VOLATILE, EventType, PlainData

__all__ = ["TYPES"]

Free = dict[str, object]


class ExperimentRegistered(PlainData):
    """What is going to be run and judged was stated, before the first execution."""

    experiment: str
    plan: str
    """SHA-256 of the plan without the number of replicates."""
    replicates: int
    conditions: list[str]
    claims: Annotated[list[Free], LARGE]
    specs: Annotated[list[Free], LARGE]
    hypotheses: Annotated[list[Free], LARGE]
    code: list[str]
    """SHA-256 of each program that is given and not asked for."""
    functions: Annotated[list[Free], LARGE]
    """Import path and source digest of everything that is called."""
    sources: Annotated[dict[str, str], VOLATILE, BLOB] = {}
    """Each source digest's text, to be read where the function is gone."""
    parts: Annotated[dict[str, str], VOLATILE, BLOB] = {}
    """Part of the plan → its digest, for what no other member says."""


class TreatmentApplied(PlainData):
    """A replicate runs under a treatment: what it changes."""

    treatment: str
    changes: Annotated[Free, BLOB]


class StepApplied(PlainData):
    """A step of the user's own returned; data that no event held is kept with it."""

    step: str
    metrics: Annotated[Free, LARGE]
    data: Annotated[object, BLOB] = None


class SpecRefused(PlainData):
    """Bounds were proposed that are no bounds, or would open the capsule."""

    spec: Annotated[object, BLOB]
    rule: str
    message: Annotated[str, BLOB]


class ReplicateStarted(PlainData):
    """One replicate of one condition begins."""

    condition: str
    replicate: int
    seed: int


class AnswerTaken(PlainData):
    """An effect was answered by an earlier run of the same measurement."""

    run: str
    event: int
    """Where the answer stands, and beside it what was asked."""
    level: str | None = None
    """How strongly code was held there, in any replicate of the condition."""


class ExecutionMeasured(PlainData):
    """What held code while it ran, and what each run of it cost and printed.

    One for an effect, of however many runs; level, layers and environment are those of
    the run that was held the least.
    """

    level: Annotated[str, VOLATILE]
    layers: Annotated[Free, VOLATILE, LARGE]
    environment: Annotated[Free, VOLATILE, LARGE]
    usage: Annotated[list[Free], VOLATILE, LARGE]
    stdout: Annotated[list[Free] | None, VOLATILE, BLOB] = None
    stderr: Annotated[list[Free] | None, VOLATILE, BLOB] = None
    exits: Annotated[list[str | None], VOLATILE] = []
    """How each run ended: ``answered``, a signal's name, or ``code 1``."""
    others: Annotated[list[Free] | None, VOLATILE, LARGE] = None
    """Number and differing members of the runs that were held otherwise than that."""


class MetricsMeasured(PlainData):
    """A replicate came to its end with these metrics."""

    replicate: int
    metrics: Annotated[Free, LARGE]
    order: Annotated[list[str], LARGE]
    """The metrics' names as the code gave them; objects have no order."""
    outputs: Annotated[Free, BLOB]


class ReplicateFailed(PlainData):
    """A step of a replicate refused or broke."""

    replicate: int
    step: str
    error_type: str
    message: Annotated[str, BLOB]
    rule: str | None = None
    line: int | None = None
    remedy: Annotated[str | None, VOLATILE, BLOB] = None
    """What to do about it, in words that later versions may choose better."""
    function: Annotated[str | None, VOLATILE] = None
    """The function of a step of the user's own."""


class HypothesisUnjudged(PlainData):
    """A verifier refused to judge, or broke."""

    hypothesis: str
    error_type: str
    message: Annotated[str, BLOB]
    rule: str | None = None
    remedy: Annotated[str | None, VOLATILE, BLOB] = None
    """What to do about it, in words that later versions may choose better."""


TYPES: tuple[EventType, ...] = (
    EventType("experiment.registered", ExperimentRegistered),
    EventType("treatment.applied", TreatmentApplied),
    EventType("step.applied", StepApplied),
    EventType("spec.refused", SpecRefused),
    EventType("replicate.started", ReplicateStarted),
    EventType("answer.taken", AnswerTaken),
    EventType("execution.measured", ExecutionMeasured),
    EventType("metrics.measured", MetricsMeasured),
    EventType("replicate.failed", ReplicateFailed),
    EventType("hypothesis.unjudged", HypothesisUnjudged),
)
