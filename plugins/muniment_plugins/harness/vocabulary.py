"""The event types that the harness adds to the kernel's vocabulary.

    experiment.registered {"experiment": "…", "plan": "sha256:…", "replicates": 3, …}
    replicate.started   {"condition": "baseline", "replicate": 0, "seed": 17…}
    execution.measured  {"level": "process", "layers": {…}, "usage": [{…}, …]}
    metrics.measured    {"replicate": 0, "metrics": {"total": 15}, "order": ["total"]}
    replicate.failed    {"replicate": 0, "step": "bounded_synthesis", "rule": "…"}
    hypothesis.unjudged {"hypothesis": "…", "error_type": "…"}

Rules: what depends on the machine (isolation layers, speed) is recorded and not
compared; code may print anything, so its output is a blob.
"""

from __future__ import annotations

from typing import Annotated

from muniment.events.types import BLOB, LARGE, VOLATILE, EventType, PlainData

__all__ = ["TYPES"]

Free = dict[str, object]


class ExperimentRegistered(PlainData):
    """What will be run and judged was stated, before the first execution."""

    experiment: str
    plan: str
    """SHA-256 of the plan without the number of replicates."""
    replicates: int
    conditions: list[str]
    claims: Annotated[list[Free], LARGE]
    specs: Annotated[list[Free], LARGE]
    hypotheses: Annotated[list[Free], LARGE]
    code: list[str]
    """SHA-256 of each program that was given rather than asked from a model."""
    functions: Annotated[list[Free], LARGE]
    """Import path and source digest of every function that is called."""
    sources: Annotated[dict[str, str], VOLATILE, BLOB] = {}
    """Source digest → text, to be read if the function is gone."""
    parts: Annotated[dict[str, str], VOLATILE, BLOB] = {}
    """Part of the plan → its digest, for parts that no other member states."""


class TreatmentApplied(PlainData):
    """A replicate runs under a treatment, with these changes."""

    treatment: str
    changes: Annotated[Free, BLOB]


class StepApplied(PlainData):
    """A custom step returned; data that no event held is kept with it."""

    step: str
    metrics: Annotated[Free, LARGE]
    data: Annotated[object, BLOB] = None


class SpecRefused(PlainData):
    """A proposed spec was refused: it is invalid, or would open the capsule."""

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
    """The position of the event that holds the answer."""
    level: str | None = None
    """The weakest level that isolated code there, in any replicate of the condition."""


class ExecutionMeasured(PlainData):
    """How code was isolated while it ran, and what each run of it used and printed.

    There is one for an effect, however many runs it has; level, layers and environment
    are those of the least isolated run.
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
    """Number and differing members of the runs that were isolated differently."""


class MetricsMeasured(PlainData):
    """A replicate completed with these metrics."""

    replicate: int
    metrics: Annotated[Free, LARGE]
    order: Annotated[list[str], LARGE]
    """The metrics' names in the order of the code; JSON objects have no order."""
    outputs: Annotated[Free, BLOB]


class ReplicateFailed(PlainData):
    """A step of a replicate refused or failed."""

    replicate: int
    step: str
    error_type: str
    message: Annotated[str, BLOB]
    rule: str | None = None
    line: int | None = None
    remedy: Annotated[str | None, VOLATILE, BLOB] = None
    """What to do about it, in words that later versions may choose better."""
    function: Annotated[str | None, VOLATILE] = None
    """The function of a custom step."""


class HypothesisUnjudged(PlainData):
    """A verifier refused to judge, or failed."""

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
