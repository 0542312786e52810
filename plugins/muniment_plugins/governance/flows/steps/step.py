"""One step: retrieval, agent, reasoning, each stated with its content.

    flow.step.started     {"step": 0, "agent": "agent-a", "needs": [], "inputs": "sha256:…"}
    retrieval.requested … evidence.collected …
    artifact.produced     {"artifact_id": "agent-a", "digest": "sha256:…", "content": {…}}
    reasoning.recorded    {"bundle_id": "agent-a/0", "claims": [{…}], …}

Rules:

- A step has its own scope, ``step/<number>-<agent>``; so have its effects.
- Its functions are called in this order, and each with copies. Their lane refuses what
  the flow itself states (`function_lanes`).
- Whatever a function raises fails the step, and with it the flow; the error names it. That
  holds for `SystemExit` and its like, too (`flows.failed`).
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from muniment.encoding.canonical import JsonValue
from muniment.programs.awaiting import awaited
from muniment.programs.references import Function, plain, refer
from muniment.runs.halts.raised import passes_through
from muniment.runs.run import Run
from muniment_plugins.governance.documents.manifest import FlowManifest, FlowPart
from muniment_plugins.governance.flows.edition import EDITION
from muniment_plugins.governance.flows.failed import (
    FlowFailed,
    told,
)
from muniment_plugins.governance.flows.plan import PlannedStep
from muniment_plugins.governance.flows.steps.artifacts import (
    ArtifactStore,
    FlowArtifact,
    FlowEvidence,
    content_digest,
)
from muniment_plugins.governance.flows.steps.counts import FlowCounts
from muniment_plugins.governance.flows.steps.function_lanes import FunctionLane
from muniment_plugins.governance.flows.steps.outputs import (
    GivenArtifact,
    given_artifacts,
)
from muniment_plugins.governance.flows.steps.reasoning import ReasoningBundle, bundle_of
from muniment_plugins.governance.flows.steps.retrieval import (
    evidence_of,
    questions,
    stated,
)
from muniment_plugins.governance.flows.steps.task import FlowTask

__all__ = ["COUNTED", "FlowState", "StepOutcome", "take_step"]

COUNTED = "counted"
"""The member of a part's result that is for the flow above it, and no artifact's."""
_SEEDS = 2**32


@dataclass(slots=True)
class FlowState:
    """What a flow has come to so far."""

    flow: FlowManifest
    store: ArtifactStore
    counts: FlowCounts
    dataset: Path | None
    is_async: bool
    fallbacks: Mapping[str, Function]
    """Name → the agent that takes a step which the budget no longer allows."""
    made: dict[str, list[FlowArtifact]] = field(
        default_factory=dict[str, "list[FlowArtifact]"]
    )
    """Agent → what it made."""
    evidence: dict[str, FlowEvidence] = field(default_factory=dict[str, FlowEvidence])
    bundles: list[ReasoningBundle] = field(default_factory=list[ReasoningBundle])
    state: str = ""
    """SHA-256 over all steps so far: each one covers the one before."""
    edition: int = EDITION
    """By which rules the flow runs."""

    def inputs_of(self, needs: tuple[str, ...]) -> object:
        """Return what a step that *needs* other agents' outputs is given."""
        if not needs:
            return self.flow.inputs
        return {one: self._output(one) for one in needs}

    def _output(self, agent: str) -> object:
        handed = [one for one in self.made.get(agent, []) if one.scope != "ephemeral"]
        if len(handed) == 1 and handed[0].artifact_id == agent:
            return handed[0].content
        return {one.artifact_id: one.content for one in handed} if handed else None


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """What a step made, before it is judged."""

    artifacts: tuple[FlowArtifact, ...] = ()
    evidence: tuple[FlowEvidence, ...] = ()
    bundle: ReasoningBundle | None = None


async def take_step(
    lane: Run, step: PlannedStep, state: FlowState, child: Function | None
) -> StepOutcome:
    """Take *step* in its *lane*, with *child* in place of an agent that is a flow.

    Raises:
        FlowFailed: one of its functions failed, or made what it may not make.

    """
    counts, flow = state.counts, state.flow
    counts.begin_step()
    instead = counts.take(lane, "step_limit")
    if instead == "skip":
        _skip(lane, step, "the budget of steps is exhausted")
        return StepOutcome()
    part = flow.parts.get(step.agent, FlowPart())
    task = FlowTask(
        flow_id=flow.flow_id,
        step=step.number,
        agent=step.agent,
        inputs=state.inputs_of(step.needs),
        prompt=part.prompt,
        model=part.model,
        seed=int(lane.random() * _SEEDS),
        dataset=state.dataset,
    )
    _start(lane, step, task, state)
    evidence = await _retrieve(lane, step, task, state)
    task = replace(task, evidence=tuple(evidence))
    given = await _acted(lane, step, task, state, child, instead)
    artifacts = _produce(lane, step, given, state)
    task = replace(task, artifacts=tuple(artifacts))
    bundle = await _reason(lane, step, task, state)
    return StepOutcome(tuple(artifacts), tuple(evidence), bundle)


def _skip(lane: Run, step: PlannedStep, reason: str) -> None:
    said = {"step": step.number, "agent": step.agent, "reason": reason}
    lane.record("flow.step.skipped", said)


def _start(lane: Run, step: PlannedStep, task: FlowTask, state: FlowState) -> None:
    state.store.note(step.name, "resolved_step", "flow", ("plan",), step.scope)
    lane.record(
        "flow.step.started",
        {
            "step": step.number,
            "agent": step.agent,
            "needs": [*step.needs],
            "seed": task.seed,
            "inputs": content_digest(task.inputs, lane.values),
        },
    )


async def _called(
    lane: Run, step: PlannedStep, role: str, call: Function, task: FlowTask
) -> object:
    """Return what a function of the step returns.

    Raises:
        FlowFailed: it raised something that no rule of muniment says.

    """
    awaiting = False
    try:
        with FunctionLane.of(lane) as own:
            value = plain(call)(own, task)
            awaiting = True
            return await awaited(value)
    except GeneratorExit as error:
        if awaiting:  # whoever waits for this is closed, and so is what it waits for
            raise
        raise _raised(error, step, role) from error
    except BaseException as error:
        raise _raised(error, step, role) from error


def _raised(error: BaseException, step: PlannedStep, role: str) -> FlowFailed:
    """Return how the flow fails by what a function raised; raise what is not its own."""
    if passes_through(error):
        raise error
    return FlowFailed(
        told(error),
        rule=f"flow/{role}",
        place=f"{step.scope}, its {role}",
        remedy="the function raised this; --debug shows the traceback",
    )


async def _retrieve(
    lane: Run, step: PlannedStep, task: FlowTask, state: FlowState
) -> list[FlowEvidence]:
    retriever = step.functions.retriever
    if retriever is None:
        return []
    found: dict[str, FlowEvidence] = {}
    for asked in questions(state.flow, step.agent, step.number, task.inputs):
        request = {**asked, "agent": step.agent, "retriever": refer(retriever)}

        def perform(_: object, asked: Mapping[str, object] = asked) -> object:
            return _asked(step, retriever, asked)

        if state.is_async:
            answer = await lane.aeffect("retrieval", request, perform)
        else:
            answer = lane.effect("retrieval", request, perform)
        contract = str(asked["vector_contract_id"])
        place = f"{step.scope}, its retriever"
        request_id = f"retrieval/{asked['request_id']}"
        state.store.note(
            request_id, "retrieval_request", "retrieval", (step.name,), place
        )
        for one in evidence_of(answer, contract, place, lane.values):
            again = found.get(one.evidence_id)
            if again is not None and again.digest == one.digest:
                continue
            if _collect(lane, one, request_id, place, state):
                found[one.evidence_id] = one
    return [*found.values()]


def _asked(step: PlannedStep, retriever: Function, asked: object) -> object:
    """Return what a retriever returns, whatever it raises: an effect has an outcome."""

    async def waiting(answer: Awaitable[object]) -> object:
        try:
            return await answer
        except (Exception, GeneratorExit):
            raise
        except BaseException as error:
            raise _raised(error, step, "retriever") from error

    try:
        answer = plain(retriever)(asked)
    except Exception:
        raise  # an effect fails by it as it is
    except BaseException as error:
        raise _raised(error, step, "retriever") from error
    return waiting(answer) if inspect.isawaitable(answer) else answer


def _collect(
    lane: Run, one: FlowEvidence, request: str, place: str, state: FlowState
) -> bool:
    """State that *one* was collected; tell whether the budget has room for it."""
    if state.counts.take(lane, "evidence_limit") is not None:
        return False
    known = state.evidence.get(one.evidence_id)
    if known is None:
        name = f"evidence/{one.evidence_id}"
        state.store.note(name, "retrieved_evidence", "retrieval", (request,), place)
        state.evidence[one.evidence_id] = one
    elif known.digest != one.digest:
        raise FlowFailed(
            f"the evidence {one.evidence_id!r:.80} has two contents",
            rule="flow/evidence",
            place=place,
            remedy="an id stands for one content; give the other another id",
        )
    lane.record("evidence.collected", stated(one))
    return True


async def _acted(
    lane: Run,
    step: PlannedStep,
    task: FlowTask,
    state: FlowState,
    child: Function | None,
    instead: JsonValue,
) -> list[GivenArtifact]:
    """Return what the agent of the step made, or what takes its place."""
    place = f"{step.scope}, its agent"
    if isinstance(instead, dict):
        value: object = instead["answer"]
    elif isinstance(instead, str):
        value = await _called(lane, step, "agent", state.fallbacks[instead], task)
    elif child is not None:
        value = _absorbed(await awaited(child(lane, task)), lane, state)
    else:
        agent = cast("Function", step.functions.agent)
        value = await _called(lane, step, "agent", agent, task)
    return given_artifacts(value, step.agent, step.name, place)


def _absorbed(result: object, lane: Run, state: FlowState) -> object:
    """Count what a flow counted that ran in place of an agent; return its result."""
    if state.edition == 1:
        return result
    told = dict(cast("Mapping[str, object]", result))
    state.counts.absorb(lane, cast("Mapping[str, JsonValue]", told.pop(COUNTED)))
    return told


def _produce(
    lane: Run, step: PlannedStep, given: list[GivenArtifact], state: FlowState
) -> list[FlowArtifact]:
    place = f"{step.scope}, its agent"
    made: list[FlowArtifact] = []
    for one in given:
        if state.counts.take(lane, "artifact_limit", "artifact_step_limit") is not None:
            continue
        artifact = state.store.add(
            one.artifact_id,
            one.content,
            one.artifact_type,
            one.scope,
            one.parents,
            place,
        )
        lane.record(
            "artifact.produced",
            {
                "artifact_id": artifact.artifact_id,
                "artifact_type": artifact.artifact_type,
                "producer": artifact.producer,
                "scope": artifact.scope,
                "parents": [*artifact.parents],
                "digest": artifact.digest,
                "content": artifact.kept,
            },
        )
        made.append(artifact)
    state.made[step.agent] = made
    return made


async def _reason(
    lane: Run, step: PlannedStep, task: FlowTask, state: FlowState
) -> ReasoningBundle | None:
    reasoner = step.functions.reasoner
    if reasoner is None:
        return None
    place = f"{step.scope}, its reasoner"
    value = await _called(lane, step, "reasoner", reasoner, task)
    bundle = bundle_of(value, step.agent, step.number, place, state.edition)
    _note_bundle(bundle, step, state, place)
    lane.record("reasoning.recorded", bundle.stated())
    state.bundles.append(bundle)
    return bundle


def _note_bundle(
    bundle: ReasoningBundle, step: PlannedStep, state: FlowState, place: str
) -> None:
    """Enter what the bundle is made of, as far as its parts are there.

    What a claim rests on may be unknown: that is for the rules to say.
    """
    store, known = state.store, state.evidence
    names = [f"evidence/{one}" for one in bundle.evidence_ids if one in known]
    reasoned = f"reasoning/{step.number}"
    store.note(reasoned, "reasoning_step", "reasoning", (step.name, *names), place)
    store.note(
        f"bundle/{bundle.bundle_id}",
        "reasoning_bundle",
        "reasoning",
        (reasoned,),
        place,
    )
