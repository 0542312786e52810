"""A flow as a program over a run, live or rebuilt from its ``run.started``.

                      flow.planned, environment.fingerprinted, dataset.pinned
    step/0-agent-a    flow.step.started, …, verification.arbitrated, flow.step.completed
    step/1-agent-b    …
                      verification.judged, verification.arbitrated    of the flow

Rules:

- The params are the whole of it: manifest, policy, pins. So ``run.started`` alone says
  what ran, and what it was held to.
- A resume refuses another manifest, policy, environment or dataset, and writes nothing; a
  replay compares them.
- Each step is judged before the next one begins; the flow is judged at its end, by every
  bundle. No verdict takes the place of another.
- Data that a step overwrites fails the flow, which would else name a digest that the
  later steps did not read (`flows.pins.rechecks`).
- A dry run calls no function of the flow: it states the steps that would be taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from muniment.encoding.canonical import JsonValue, canonical, sha256_tag
from muniment.programs.awaiting import driven
from muniment.programs.references import Function
from muniment.programs.stable_names import stable_name
from muniment.runs.run import Run
from muniment_plugins.governance.documents.policy import GovernancePolicy
from muniment_plugins.governance.flows.edition import edition_of, of_edition
from muniment_plugins.governance.flows.parts import FlowFunction
from muniment_plugins.governance.flows.pins.comparison import (
    compare_pins,
    refuse_other_params,
    refuse_other_pins,
)
from muniment_plugins.governance.flows.pins.datasets import place_of, stated_dataset
from muniment_plugins.governance.flows.pins.environment import stated_environment
from muniment_plugins.governance.flows.pins.loose_modules import described_modules
from muniment_plugins.governance.flows.pins.rechecks import DataWatch
from muniment_plugins.governance.flows.plan import FlowPlan, PlannedStep
from muniment_plugins.governance.flows.steps.artifacts import ArtifactStore
from muniment_plugins.governance.flows.steps.counts import FlowCounts, FlowTally
from muniment_plugins.governance.flows.steps.step import (
    COUNTED,
    FlowState,
    take_step,
)
from muniment_plugins.governance.flows.steps.verdicts import FlowVerdicts
from muniment_plugins.governance.verification.rulebook import Rulebook

__all__ = ["AsyncFlowProgram", "FlowProgram"]

Params = Mapping[str, JsonValue]


@stable_name("muniment:flow/1")
@dataclass(frozen=True, slots=True)
class FlowProgram:
    """A planned flow, and the policy that it is held to."""

    plan: FlowPlan
    policy: GovernancePolicy
    book: Rulebook
    pins: Params
    """What was pinned when it was planned, or as the record has it."""
    children: Mapping[str, FlowProgram] = field(
        default_factory=dict[str, "FlowProgram"]
    )
    """Agent → the flow that is run in its place."""
    fallbacks: Mapping[str, FlowFunction] = field(
        default_factory=dict[str, FlowFunction]
    )
    """Name → the agent that takes the place of steps."""

    is_async = False

    def params(self) -> dict[str, object]:
        """Return the params with which it is run."""
        return {
            "flow": dict(self.plan.flow.document),
            "policy": dict(self.policy.document),
            "pins": dict(self.pins),
        }

    def functions_given(self) -> list[Function]:
        """Return the functions that are called, which the start of a run describes.

        And stand-ins for the modules that theirs import from beside them.
        """
        functions = self.functions()
        environment = cast("Mapping[str, Params]", self.pins["environment"])
        return [*functions, *described_modules(functions, environment["modules"])]

    def functions(self) -> list[FlowFunction]:
        """Return all functions: of steps, rules, engines and fallbacks, and children's."""
        own = [one for step in self.plan.steps for _, one in step.functions.all()]
        book = (*self.book.checks.values(), *self.book.engines.values())
        own += cast("list[FlowFunction]", [*book, *self.fallbacks.values()])
        return own + [
            one for child in self.children.values() for one in child.functions()
        ]

    def before_resume(self, params: Mapping[str, object]) -> None:
        """Refuse to go on with something else than what began with *params*.

        Raises:
            RefusedError: manifest, policy, a function, environment or data is another.
            CannotTellError: a function or the data is not here.

        """
        refuse_other_params(self.params(), params, self.plan.flow.place)
        recorded = cast("Params", params["pins"])
        refuse_other_pins(
            self.plan.flow, self.policy, self.functions(), recorded, self.pins
        )

    def __call__(
        self, run: Run, flow: object, policy: object, pins: Mapping[str, JsonValue]
    ) -> object:
        """Take all steps, and judge them; see the module's rules.

        Raises:
            FlowFailed: a step failed, a verdict is *fail*, or a budget halts.

        """
        self._compare(run, flow, policy, pins)
        return driven(self._conduct(run, pins))

    def _compare(
        self, run: Run, flow: object, policy: object, pins: Mapping[str, JsonValue]
    ) -> None:
        if not run.has_record:
            return
        run.require_param("flow", flow, dict(self.plan.flow.document))
        run.require_param("policy", policy, dict(self.policy.document))
        if run.replays:
            compare_pins(run, self.plan.flow, self.policy, self.functions(), pins)

    def preview(
        self, run: Run, flow: object, policy: object, pins: Mapping[str, JsonValue]
    ) -> object:
        """State the steps that would be taken, and return the plan: for a dry run."""
        del flow, policy, pins
        self._begin(run)
        for step in self.plan.steps:
            said = {"step": step.number, "agent": step.agent, "reason": "a dry run"}
            run.scope(step.scope).record("flow.step.skipped", said)
        return self.plan.document()

    def _begin(self, run: Run) -> None:
        """State the plan, and what is pinned."""
        flow = self.plan.flow
        run.record("flow.planned", self.plan.stated())
        environment = cast("Params", self.pins["environment"])
        run.record(
            "environment.fingerprinted",
            stated_environment(environment, flow.determinism_level),
        )
        data = self.pins.get("dataset")
        if flow.dataset is not None and isinstance(data, dict):
            run.record("dataset.pinned", stated_dataset(flow.dataset, data))

    async def _conduct(self, run: Run, pins: Params) -> object:
        self._begin(run)
        state, edition = self._state(run, pins), edition_of(pins)
        verdicts = FlowVerdicts(self.policy, self.book, state.counts, edition)
        data = DataWatch.of(self.plan.flow.dataset, {**self.pins, **_edition(pins)})
        for step in self.plan.steps:
            await self._take(run.scope(step.scope), step, state, verdicts, data)
        verdicts.judge_flow(run, state)
        if data is not None:
            data.at_end(run)
        verdicts.raise_failure()
        result = _result(state, verdicts)
        return result if "above" not in pins else {**result, **_counted(state)}

    def _state(self, run: Run, pins: Params) -> FlowState:
        flow, store = self.plan.flow, ArtifactStore(run.values)
        store.note("manifest", "flow_manifest", "flow", (), "the flow")
        store.note("plan", "execution_plan", "flow", ("manifest",), "the flow")
        above = cast("list[Params]", pins.get("above", [{"used": {}}]))
        used = dict(cast("dict[str, int]", above[0]["used"]))
        terms = flow.document.get("execution_budget")
        tallies = [
            FlowTally("policy", self.policy.execution_budget, used),
            *map(FlowTally.of_row, above[1:]),
            FlowTally(f"flow {flow.flow_id}", flow.execution_budget, terms=terms),
        ]
        folder = Path(str(self.pins["folder"]))
        data = None if flow.dataset is None else place_of(flow.dataset, folder)
        return FlowState(
            flow=flow,
            store=store,
            counts=FlowCounts(tallies, self.policy.mode == "unsafe"),
            dataset=data,
            is_async=self.is_async,
            fallbacks=self.fallbacks,
            state=self.plan.digest,
            edition=edition_of(pins),
        )

    async def _take(
        self,
        lane: Run,
        step: PlannedStep,
        state: FlowState,
        verdicts: FlowVerdicts,
        data: DataWatch | None,
    ) -> None:
        """Take a step, judge it, and state that it is complete."""
        with lane:
            if data is not None and step.child is None:
                data.before_step(lane)
            outcome = await take_step(lane, step, state, self._child(step, state))
            verdicts.judge_step(lane, step, outcome)
            digests: list[JsonValue] = [one.digest for one in outcome.artifacts]
            covered: list[JsonValue] = [state.state, step.agent, digests]
            state.state = sha256_tag(canonical(covered))
            lane.record(
                "flow.step.completed",
                {
                    "step": step.number,
                    "agent": step.agent,
                    "artifacts": [one.artifact_id for one in outcome.artifacts],
                    "state": state.state,
                },
            )

    def _child(self, step: PlannedStep, state: FlowState) -> Function | None:
        child = self.children.get(step.agent)
        if child is None:
            return None

        def call(lane: Run, task: object) -> object:
            del task
            name, params = child.plan.flow.flow_id, child.params()
            said = of_edition(cast("Params", params["pins"]), state.edition)
            above = {} if state.edition == 1 else {"above": state.counts.above()}
            params["pins"] = {**said, **above}
            if self.is_async:
                return lane.acall(child, params, name)
            return lane.call(child, params, name)

        return call


@stable_name("muniment:async-flow/1")
@dataclass(frozen=True, slots=True)
class AsyncFlowProgram(FlowProgram):
    """A planned flow some functions of which must be awaited."""

    is_async = True

    async def __call__(
        self, run: Run, flow: object, policy: object, pins: Mapping[str, JsonValue]
    ) -> object:
        """Take all steps, and judge them; see the module's rules.

        Raises:
            FlowFailed: a step failed, a verdict is *fail*, or a budget halts.

        """
        self._compare(run, flow, policy, pins)
        return await self._conduct(run, pins)


def _edition(pins: Params) -> Params:
    return {"edition": edition_of(pins)}


def _counted(state: FlowState) -> dict[str, object]:
    """Return what the result of a part says to the flow above it."""
    return {COUNTED: state.counts.counted()}


def _result(state: FlowState, verdicts: FlowVerdicts) -> dict[str, object]:
    """Return what a flow comes to: outputs of its last steps, verdicts, audit artifacts."""
    needed = {one for needs in state.flow.dependencies.values() for one in needs}
    last = [one for one in state.made if one not in needed]
    audit = [one for one in state.store.made if one.scope == "audit"]
    return {
        "flow": state.flow.flow_id,
        "state": state.state,
        "outputs": state.inputs_of(tuple(last)) if last else {},
        "verdicts": verdicts.said,
        "audit": {one.artifact_id: one.digest for one in audit},
    }
