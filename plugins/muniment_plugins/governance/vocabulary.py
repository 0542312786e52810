"""The event types and effect kinds that governance adds to the kernel's vocabulary.

    policy.adopted         {"policy": "triage", "digest": "sha256:…", "document": {…}}
    budget.exhausted       {"budget": "policy", "limit": "max_count", "action": "halt", …}
    flow.planned           {"flow": "flow-boring", "plan": "sha256:…", "steps": [{…}]}
    flow.step.started      {"step": 0, "agent": "agent-a", "inputs": "sha256:…"}
    evidence.collected     {"evidence_id": "e1", "digest": "sha256:…", "score": 0.9, …}
    artifact.produced      {"artifact_id": "a1", "digest": "sha256:…", "parents": []}
    reasoning.recorded     {"bundle_id": "b1", "claims": [{…}], "evidence_ids": ["e1"]}
    verification.judged    {"target": "step/0-agent-a", "engine": "content", …}
    flow.step.completed    {"step": 0, "agent": "agent-a", "artifacts": ["a1"]}

Rules:

- An auditor needs the ledger alone: what was judged is there with its content and its
  digest, and each verdict is a fact of its own, which none replaces.
- Contents, questions and claims may be personal, so they are blobs, which can be erased.
"""

from __future__ import annotations

from typing import Annotated

from muniment.events.effect_kinds import EffectKind
from muniment.events.types import BLOB, LARGE, EventType, PlainData

__all__ = ["KINDS", "TYPES"]

Free = dict[str, object]


class PolicyAdopted(PlainData):
    """A run is held to this policy from here on."""

    policy: str
    """What people call it; ``muniment:default/1`` if none was given."""
    digest: str
    """SHA-256 of the canonical document."""
    document: Annotated[Free, LARGE]
    """As it was written, or as it was amended."""
    mode: str
    flow: str | None = None
    """SHA-256 of the flow's manifest, whose budgets count beside the policy's."""
    kinds: Annotated[dict[str, Free], LARGE] = {}
    """Effect kind → its declared source and magnitude, by which budgets count."""
    fallback: Annotated[Free, LARGE] = {}
    """Function that answers in place of effects → digest of its source."""
    envelope: Annotated[Free | None, LARGE] = None
    """The DSSE envelope of the document, if an approver signed it."""
    manifest: Annotated[Free | None, LARGE] = None
    """The flow's manifest, if an amendment changed it."""
    amendment: str | None = None
    """The leaf hash of the event that amended the policy, if one did."""
    group: str | None = None
    """The runs of one command, which share the policy's budgets; None if it is alone."""
    approved: Annotated[list[Free] | None, LARGE] = None
    """The answers that approved the amendment, each with its key and leaf hash."""


class PolicyAmended(PlainData):
    """People approved that a run goes on under another policy."""

    of: str
    """The run."""
    leaf: str
    """The leaf hash of its start."""
    before: str
    """SHA-256 of the policy that is amended."""
    after: str
    policy: Annotated[Free, LARGE]
    flow: Annotated[Free | None, LARGE] = None
    """The flow's manifest, if that is amended, too."""
    reason: str = ""


class BudgetExhausted(PlainData):
    """A limit was reached, or something happened that was never allowed."""

    budget: str
    """Whose limit it is: ``policy``, ``flow NAME``, ``step 0-agent``."""
    limit: str
    action: str
    effect: str
    """The kind of the first effect beyond it."""
    scope: str
    detail: str


class EffectDegraded(PlainData):
    """An effect was not performed, and answered by its fallback."""

    effect: str
    scope: str
    fallback: Annotated[object, LARGE]
    budget: str
    limit: str
    origin: str | None = None
    """The leaf hash of the outcome that a cached answer comes from."""


class FlowPlanned(PlainData):
    """A flow was resolved: these steps will be taken, in this order."""

    flow: str
    manifest: str
    """SHA-256 of the canonical manifest, which the run's params have."""
    plan: str
    """SHA-256 of the canonical plan."""
    state: str
    level: str
    steps: Annotated[list[Free], LARGE]
    """Number, agent, what it needs, and how its functions are named."""


class EnvironmentFingerprinted(PlainData):
    """What the flow runs on, as its level of determinism asks for."""

    digest: str
    level: str
    python: str
    implementation: str = ""
    platform: str
    isolation: str
    """What is around the functions of the flow: ``none``, since they are trusted."""
    seed: str
    """What the seeds of the steps follow from: the ``manifest``, or the ``run``."""
    compared: list[str]
    """The members that a resume and a replay must find equal."""
    distributions: Annotated[dict[str, str], LARGE]
    """Name → version, of what muniment and the agents' distributions declare to need."""
    modules: Annotated[dict[str, str], LARGE]
    """Module → digest of its source, for modules that no distribution has."""


class DatasetPinned(PlainData):
    """The data of the flow is this, by a digest that was computed now."""

    dataset_id: str
    version: str
    state: str
    sha256: str
    declared: str
    """The digest that the manifest has."""
    files: int
    bytes: int
    uri: Annotated[str, BLOB]


class DatasetChecked(PlainData):
    """The data of the flow was hashed again, while the flow ran or as it ended."""

    dataset_id: str
    version: str
    state: str
    pinned: str
    """The digest with which the flow began."""
    sha256: str
    """The digest now."""


class FlowStepStarted(PlainData):
    """A step begins."""

    step: int
    agent: str
    needs: list[str]
    seed: int
    inputs: str
    """SHA-256 of the canonical inputs: the artifacts that it needs, or the flow's own."""


class FlowStepCompleted(PlainData):
    """A step ended, and was not judged to fail."""

    step: int
    agent: str
    artifacts: list[str]
    state: str
    """SHA-256 over the state before, the step, and the digests of its artifacts."""


class FlowStepSkipped(PlainData):
    """A step was not taken, or not to its end."""

    step: int
    agent: str
    reason: str


class ArtifactProduced(PlainData):
    """A step produced something, which later ones may use."""

    artifact_id: str
    artifact_type: str
    producer: str
    """``agent``, ``retrieval``, ``reasoning``, ``verification`` or ``flow``."""
    scope: str
    parents: list[str]
    digest: str
    """SHA-256 of the canonical content."""
    content: Annotated[object, BLOB]


class EvidenceCollected(PlainData):
    """A retriever found this."""

    evidence_id: str
    determinism: str
    """``deterministic``, ``sampled`` or ``external``."""
    source_uri: Annotated[str, BLOB]
    contract: str
    score: float
    digest: str
    """SHA-256 of the canonical content."""
    content: Annotated[object, BLOB]


class ReasoningRecorded(PlainData):
    """Claims were made about what a step produced, and how they follow."""

    bundle_id: str
    producer: str
    claim_ids: list[str]
    evidence_ids: list[str]
    digest: str
    """SHA-256 of the canonical bundle, without its signature."""
    claims: Annotated[list[Free], BLOB]
    steps: Annotated[list[Free], BLOB]
    signature: Annotated[Free | None, LARGE] = None
    """A DSSE envelope over the bundle, if it has one."""


class VerificationJudged(PlainData):
    """An engine judged a step, or the flow."""

    target: str
    engine: str
    status: str
    """``pass``, ``fail``, ``escalate``; ``abstain`` if there was nothing to judge."""
    rules: list[str]
    """The rules that were asked."""
    cost: int
    violations: Annotated[list[Free], LARGE]
    """Rule, severity, status and, as a text, what is wrong."""


class VerificationArbitrated(PlainData):
    """The verdicts of the engines were made into one."""

    target: str
    rule: str
    threshold: int | None
    votes: dict[str, str]
    status: str
    decided_by: str = "engines"
    """``engines``, or ``people`` after an escalation."""


class ViolationNoted(PlainData):
    """Something is wrong, and the run goes on, since its policy is unsafe or says so."""

    target: str
    rule: str
    detail: Annotated[str, BLOB]


TYPES: tuple[EventType, ...] = (
    EventType("policy.adopted", PolicyAdopted),
    EventType("policy.amended", PolicyAmended),
    EventType("budget.exhausted", BudgetExhausted),
    EventType("effect.degraded", EffectDegraded),
    EventType("flow.planned", FlowPlanned),
    EventType("environment.fingerprinted", EnvironmentFingerprinted),
    EventType("dataset.pinned", DatasetPinned),
    EventType("dataset.checked", DatasetChecked),
    EventType("flow.step.started", FlowStepStarted),
    EventType("flow.step.completed", FlowStepCompleted),
    EventType("flow.step.skipped", FlowStepSkipped),
    EventType("artifact.produced", ArtifactProduced),
    EventType("evidence.collected", EvidenceCollected),
    EventType("reasoning.recorded", ReasoningRecorded),
    EventType("verification.judged", VerificationJudged),
    EventType("verification.arbitrated", VerificationArbitrated),
    EventType("violation.noted", ViolationNoted),
)

KINDS = (
    EffectKind(
        "amendment",
        source="data",
        magnitude="low",
        on_doubt="repeat",
        own="muniment_plugins.governance.flows.steps.counts:AmendedLimit",
        fault="muniment_plugins.governance.flows.steps.counts:amendment_fault",
    ),
    EffectKind(
        "dataset_check",
        source="data",
        magnitude="low",
        on_doubt="repeat",
        own="muniment_plugins.governance.flows.pins.rechecks:DataWatch",
        fault="muniment_plugins.governance.flows.pins.rechecks:dataset_fault",
    ),
    EffectKind("retrieval", source="data", magnitude="medium", on_doubt="repeat"),
)
