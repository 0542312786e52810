"""The event types and effect kinds that workflows add to the kernel's vocabulary.

    workflow.started       {"workflow": "repair_loop", "graph": "sha256:…", "nodes": 3, …}
    node.activated         {"node": "act", "kind": "stage", "visit": 1, "cause": null}
    context.selected       {"node": "act", "selected": ["a1"], "left_out": {"kind": 2}, …}
    node.attempted         {"node": "act", "attempt": 1, "status": "failed", "wait_s": 0.5}
    verification.concluded {"node": "verify", "verdict": "failed", "checks": [{…}]}
    artifact.recorded      {"id": "act.1#0", "kind": "artifact", "text": "…", …}
    node.completed         {"node": "act", "visit": 1, "branch": "success", …}
    transition.taken       {"source": "act", "target": "verify", "matched": "default"}
    branches.joined        {"node": "join", "arrived": ["lint", "test"], "dead": []}
    policy.intersected     {"node": "act", "narrowed": [{…}], "refused": []}
    tool.denied            {"node": "act", "tool": "run", "code": "level", …}
    workflow.edited        {"workflow": "repair_loop", "op": "rewire", "patch": [{…}], …}
    workflow.committed     {"workflow": "repair_loop", "graph": "sha256:…", "reason": "…"}
    workflow.refused       {"workflow": "repair_loop", "findings": [{…}], …}
    plan.normalized        {"plan": "sha256:…", "dropped_refs": [{…}], "cycles": [], …}
    plan.batched           {"plan": "sha256:…", "graph": "sha256:…", "batches": [{…}]}
    workflow.continued_as_new {"generation": 2}

Rules:

- The run record is folded from these, from the effects between them, and from nothing
  else.
- They are the engine's own: handlers, and programs that walk no graph, state none of them
  (`muniment.events.own_types`).
- Texts and data of artifacts may be personal, so they are blobs, which can be erased.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, cast

from muniment.events.effect_kinds import EffectKind
from muniment.events.types import BLOB, LARGE, VEILED, VOLATILE, EventType, PlainData
from muniment.events.visibility import PRIVATE, VISIBILITY
from muniment.formats.series import series_key
from muniment.formats.statement import Data
from muniment_plugins.workflow.agent_types import (
    AGENT_TURN,
    LINKS,
    AgentCorrected,
    AgentEnded,
)
from muniment_plugins.workflow.mail_types import (
    MailSent,
    MailUndelivered,
    QueryPublished,
    UpdateAnswered,
    letters_of,
    mail_series,
)
from muniment_plugins.workflow.session_types import KINDS as SESSION_KINDS
from muniment_plugins.workflow.session_types import TYPES as SESSION_TYPES

if TYPE_CHECKING:
    from muniment.runs.run import Run

__all__ = ["HISTORY", "KINDS", "TYPES", "EngineFact", "told_fact"]

Free = dict[str, object]

HISTORY = "workflow.history"
"""Prefix of the keys of series that count the edits and commits of a workflow."""


class EngineFact(dict[str, object]):
    """The data of a fact that the engine states: the types below take no other."""

    __slots__ = ()


def told_fact(lane: Run, said: Mapping[str, object]) -> EngineFact:
    """Return the fact *said* about what an effect told: private where the effects are."""
    private = lane.is_kept_private(lane.scope_path)
    return EngineFact(said, **({VISIBILITY: PRIVATE} if private else {}))


class WorkflowStarted(PlainData):
    """A run walks this graph."""

    workflow: str
    """The name of the graph."""
    graph: str
    """SHA-256 of its canonical normal form, which the run's params have."""
    version: int
    nodes: int
    max_steps: int
    policy: Annotated[Free, LARGE] = {}
    """What the whole run may do at most."""
    folder: Annotated[str | None, VOLATILE, BLOB] = None
    """Where it was run, absolute: what it prints may name that."""


class NodeActivated(PlainData):
    """A path came to a node."""

    node: str
    kind: str
    visit: int
    """How often this path has been here, this time included."""
    cause: str | None = None
    """The node that the path came from."""


class ContextSelected(PlainData):
    """These artifacts are what the node works on."""

    node: str
    selected: Annotated[list[str], LARGE]
    """Ids, in the order in which they are rendered."""
    tokens: int
    budget: int | None = None
    lost: Annotated[list[Free], LARGE] = []
    """Those that lost by count or budget, the nearest first, each with its reason."""
    left_out: dict[str, int] = {}
    """Reason → how many stayed out for it, those that are listed included."""
    pins: Annotated[list[Free], LARGE] = []
    """Pinned ones that did not come in, each with its reason."""
    cuts: Annotated[list[Free], LARGE] = []
    """Those whose text was cut."""
    assembled: Annotated[Free, LARGE] = {}
    """The same of chunks, if the node has a second stage of them."""
    folder: Annotated[str | None, VOLATILE, BLOB] = None
    """In the first turn of a loop in a program whose tools take paths: where relative ones
    begin, absolute, if that was not said to the loop."""


class NodeAttempted(PlainData):
    """An attempt at the work of a node failed."""

    node: str
    attempt: int
    status: str
    error: str
    """The type of the error, whose message the effect has."""
    wait_s: float | None = None
    """How long the next attempt waits; None if this was the last."""


class VerificationConcluded(PlainData):
    """A node verified what was made, by these checks."""

    node: str
    verdict: str
    """``verified`` or ``verification_failed``."""
    checks: Annotated[list[Free], LARGE]
    """Kind, expected, actual, ok: each check that was held."""


class ArtifactRecorded(PlainData):
    """A node made an artifact."""

    id: str
    kind: str
    stage: str
    title: Annotated[str | None, VEILED] = None
    source: Annotated[str | None, VEILED] = None
    freshness: str | None = None
    priority: int | None = None
    relevance: float | None = None
    estimated_tokens: int | None = None
    lineage: Annotated[list[str], LARGE] = []
    metadata: Annotated[Free, LARGE, VEILED] = {}
    visibility: str | None = None
    """``private``, if nobody is shown it who does not ask for private parts."""
    text: Annotated[str | None, BLOB] = None
    data: Annotated[object, BLOB] = None


class NodeCompleted(PlainData):
    """A node ended, in a branch."""

    node: str
    visit: int
    status: str
    """``completed`` or ``failed``."""
    outcome: str
    branch: str
    attempts: int = 1
    produced: Annotated[list[str], LARGE] = []
    rule: str | None = None
    """The rule that it broke."""
    error: Annotated[str | None, LARGE, VEILED] = None
    visibility: Annotated[str | None, VOLATILE] = None
    """``private``, if its contents are shown only where they are asked for."""


class TransitionTaken(PlainData):
    """A path went on along an edge."""

    source: str
    target: str
    branch: str
    matched: str
    """``exact``, ``alias``, ``any`` or ``default``."""


class BranchesJoined(PlainData):
    """The branches of a fork, or the items of a map, ended."""

    node: str
    strategy: str
    arrived: Annotated[list[str], LARGE]
    dead: Annotated[list[str], LARGE] = []
    """Those that a condition ended before they came to the join."""
    failed: Annotated[list[str], LARGE] = []
    cancelled: Annotated[list[str], LARGE] = []
    """Those that were no longer needed."""
    left_out: int | None = None
    """How many items of a map were not worked on, since `max_items` left them out."""


class PolicyIntersected(PlainData):
    """What a node asked for was held against what it may have at most."""

    node: str
    result: Annotated[Free, LARGE]
    narrowed: Annotated[list[Free], LARGE] = []
    refused: Annotated[list[Free], LARGE] = []


class ToolDenied(PlainData):
    """A call of a tool was refused; nothing was performed."""

    node: str
    tool: str
    outcome: str
    code: str
    place: Annotated[str, VEILED]
    """The argument or the member of a policy that decides."""
    visibility: Annotated[str | None, VOLATILE] = None
    """``private``, if its contents are shown only where they are asked for."""


class WorkflowEdited(PlainData):
    """Somebody changed a graph."""

    workflow: str
    op: str
    """``insert_node``, ``rewire``, …; ``create`` for what a workflow begins with, ``commit``
    for the version that a commit gives it."""
    node: str | None = None
    field: str | None = None
    """The member that was changed, of the node or of the graph."""
    before: str
    """SHA-256 of the canonical document before; of ``null`` if there was none."""
    after: str
    patch: Annotated[list[Free], LARGE]
    """RFC 6902: what leads from the graph before to the one after."""
    reason: Annotated[str, LARGE] = ""
    actor: str | None = None
    """Who edited it, as that editor said; the event's own actor committed it."""


class WorkflowCommitted(PlainData):
    """A graph is one to run from here on."""

    workflow: str
    graph: str
    version: int
    """Higher than that of every graph of the name that was committed before."""
    counted: int
    """How many events of the workflow's series there are before this one: whoever counted
    before somebody else committed is refused."""
    reason: Annotated[str, LARGE] = ""
    document: Annotated[Free, LARGE]


class WorkflowRefused(PlainData):
    """A graph was not run: it cannot, or it may not."""

    workflow: str
    findings: Annotated[list[Free], LARGE]
    graph: str | None = None
    """The digest; None if it is no JSON value, which has none."""


class PlanNormalized(PlainData):
    """What a planner wrote is this plan, in its normal form."""

    plan: str
    """SHA-256 of the canonical normal form."""
    raw_digest: str
    """SHA-256 of the canonical JSON that the planner wrote."""
    source: str
    """Where in that the actions were: ``steps``, ``phases``, ``text``, …."""
    actions: int
    """How many there are."""
    repairs: Annotated[list[Free], LARGE] = []
    """Dependencies that were added: action, added, reason."""
    dropped_refs: Annotated[list[Free], LARGE] = []
    """References to nothing: action, reference, place, reason."""
    ambiguous_refs: Annotated[list[Free], LARGE] = []
    """References to several actions: which were taken, and which not."""
    cycles: Annotated[list[list[str]], LARGE] = []
    """Actions that wait for each other: such a plan is not run."""
    document: Annotated[Free, BLOB]


class PlanBatched(PlainData):
    """A plan is done in this order, by this graph."""

    plan: str
    graph: str
    """SHA-256 of the graph that it became."""
    batches: Annotated[list[Free], LARGE]
    """Id, wave, phase, class of tools, actions, and the batches that come before."""


class WorkflowContinuedAsNew(PlainData):
    """The workflow goes on in a run of its own, from its first node."""

    generation: int
    """The number of that run, counted from 1."""
    task: Annotated[str, LARGE]


def _history(data: Data) -> tuple[str, ...]:
    """Return the series of a workflow's edits and commits."""
    return (series_key(HISTORY, str(data["workflow"])),)


def _counted(data: Data) -> Mapping[str, int]:
    return {series_key(HISTORY, str(data["workflow"])): cast("int", data["counted"])}


def _own(
    name: str,
    model: type[PlainData],
    series: Callable[[Data], Iterable[str]] | None = None,
    counts: Callable[[Data], Mapping[str, int]] | None = None,
) -> EventType:
    owner = f"{EngineFact.__module__}:{EngineFact.__qualname__}"
    return EventType(name, model, series=series, counts=counts, own=owner)


TYPES = (
    _own("workflow.started", WorkflowStarted),
    _own("node.activated", NodeActivated),
    _own("context.selected", ContextSelected),
    _own("node.attempted", NodeAttempted),
    _own("verification.concluded", VerificationConcluded),
    _own("artifact.recorded", ArtifactRecorded),
    _own("node.completed", NodeCompleted),
    _own("transition.taken", TransitionTaken),
    _own("branches.joined", BranchesJoined),
    _own("policy.intersected", PolicyIntersected),
    _own("tool.denied", ToolDenied),
    _own("agent.corrected", AgentCorrected),
    _own("agent.ended", AgentEnded),
    _own("workflow.edited", WorkflowEdited, _history),
    _own("workflow.committed", WorkflowCommitted, _history, _counted),
    _own("workflow.refused", WorkflowRefused),
    _own("plan.normalized", PlanNormalized),
    _own("plan.batched", PlanBatched),
    _own("mail.sent", MailSent, mail_series),
    _own("mail.undelivered", MailUndelivered),
    _own("update.answered", UpdateAnswered),
    _own("query.published", QueryPublished),
    _own("workflow.continued_as_new", WorkflowContinuedAsNew),
    *SESSION_TYPES,
)


KINDS = (
    AGENT_TURN,
    LINKS,
    # A handler gets an idempotency key, equal for every attempt after a crash.
    EffectKind("stage", on_doubt="repeat", shares_key=True),
    EffectKind(
        "check",
        source="data",
        magnitude="low",
        on_doubt="repeat",
        fault="muniment_plugins.workflow.contracts.commands:check_fault",
    ),
    EffectKind(
        "race",
        source="data",
        magnitude="low",
        on_doubt="repeat",
        fault="muniment_plugins.workflow.runtime.branching:race_fault",
    ),
    EffectKind("update", on_doubt="repeat"),
    # Whoever took letters and did not say so has not taken them.
    EffectKind(
        "mail",
        source="human_input",
        magnitude="low",
        on_doubt="repeat",
        about_response=letters_of,
        fault="muniment_plugins.workflow.mailbox.box:mail_fault",
    ),
    *SESSION_KINDS,
)
