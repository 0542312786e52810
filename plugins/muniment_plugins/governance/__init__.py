"""Governance: flows, policies and budgets, verification, and verdicts about replays.

    muniment run flow.json --policy policy.json

What happens is recorded as facts, so that a run can be replayed, and its policy read, by
whoever has the ledger alone. The plugin manager loads this module: it offers the hooks
and knows the other modules by name only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

from muniment.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import ModuleType

    from muniment import Event, GateAnswer, Run, RunFacts
    from muniment.encoding.canonical import JsonValue
    from muniment.errors import MunimentError
    from muniment.events.effect_kinds import EffectKind
    from muniment.events.types import EventType
    from muniment.hookspecs import OpenLedger
    from muniment.ledger import Ledger
    from muniment.programs.stable_names import StableName
    from muniment_plugins.governance.documents.manifest import FlowManifest, load_flow
    from muniment_plugins.governance.documents.policy import (
        GovernancePolicy,
        load_policy,
    )
    from muniment_plugins.governance.flows.start import plan_flow, start_flow
    from muniment_plugins.governance.flows.steps.reasoning import sign_bundle
    from muniment_plugins.governance.flows.steps.task import FlowTask
    from muniment_plugins.governance.judgement.application import (
        JudgedReplay,
        judge_runs,
        judged_replay,
        terms_of,
    )
    from muniment_plugins.governance.judgement.judge import Judgement, judge
    from muniment_plugins.governance.judgement.record import ComparedRun, record_of
    from muniment_plugins.governance.judgement.terms import Terms

__all__ = [
    "ComparedRun",
    "FlowManifest",
    "FlowTask",
    "GovernancePolicy",
    "JudgedReplay",
    "Judgement",
    "Terms",
    "after_append",
    "at_end",
    "at_start",
    "before_effect",
    "before_run",
    "effect_kinds",
    "event_types",
    "hookspecs",
    "judge",
    "judge_runs",
    "judged_replay",
    "load_flow",
    "load_policy",
    "plan_flow",
    "rebuild_program",
    "record_of",
    "report_sections",
    "run_labels",
    "sign_bundle",
    "stable_names",
    "start_flow",
    "terms_of",
]

# The kernel's own marker is equal, but importing it would load the kernel's store.
hookimpl = pluggy.HookimplMarker("muniment")

__getattr__ = lazy(
    __name__,
    {
        "ComparedRun": ".judgement.record",
        "FlowManifest": ".documents.manifest",
        "FlowTask": ".flows.steps.task",
        "GovernancePolicy": ".documents.policy",
        "JudgedReplay": ".judgement.application",
        "Judgement": ".judgement.judge",
        "Terms": ".judgement.terms",
        "judge": ".judgement.judge",
        "judge_runs": ".judgement.application",
        "judged_replay": ".judgement.application",
        "load_flow": ".documents.manifest",
        "load_policy": ".documents.policy",
        "plan_flow": ".flows.start",
        "record_of": ".judgement.record",
        "sign_bundle": ".flows.steps.reasoning",
        "start_flow": ".flows.start",
        "terms_of": ".judgement.application",
    },
)


@hookimpl
def event_types() -> Iterable[EventType]:
    """Add the facts of policies, flows and verdicts to the vocabulary."""
    from muniment_plugins.governance.vocabulary import TYPES  # noqa: PLC0415 - lazy

    return TYPES


@hookimpl
def effect_kinds() -> Iterable[EffectKind]:
    """Add retrieval."""
    from muniment_plugins.governance.vocabulary import KINDS  # noqa: PLC0415 - lazy

    return KINDS


@hookimpl
def hookspecs() -> Iterable[ModuleType | type]:
    """Declare the hooks by which other plugins offer agents and engines."""
    from muniment_plugins.governance.hooks import GovernanceHooks  # noqa: PLC0415 - lazy

    return (GovernanceHooks,)


@hookimpl
def run_labels(run: RunFacts, ledger: OpenLedger) -> Mapping[str, str]:
    """Label governed runs with the digest of their policy."""
    from muniment_plugins.governance.budgets.adoption import labels_of  # noqa: PLC0415 - lazy

    return labels_of(run, ledger)


@hookimpl
def before_run(
    run: RunFacts, events: tuple[Event, ...], ledger: OpenLedger
) -> str | MunimentError | None:
    """Refuse what the policy of a run does not allow, before anything is written."""
    if not run.labels and not run.resumed and run.origin is None:
        return None
    from muniment_plugins.governance.budgets.adoption import may_run  # noqa: PLC0415 - lazy

    return may_run(run, events, ledger)


@hookimpl
def at_start(run: Run, facts: RunFacts, ledger: OpenLedger) -> None:
    """State the policy of a governed run, and count what it spent before."""
    if not facts.labels:
        return
    from muniment_plugins.governance.budgets.adoption import start  # noqa: PLC0415 - lazy

    start(run, facts, ledger)


@hookimpl
def at_end(run: Run, facts: RunFacts) -> None:
    """State what a governed run overspent, and that one which it called is marked."""
    if not facts.labels:
        return
    from muniment_plugins.governance.budgets.governor import governor_of  # noqa: PLC0415 - lazy

    governor = governor_of(facts)
    if governor is not None:
        governor.end(run, facts)


@hookimpl(trylast=True)
def before_effect(
    run: Run, kind: EffectKind, request: object, scope: str, facts: RunFacts
) -> GateAnswer | str | None:
    """Let an effect happen that its budgets allow; asked last, so that it is performed."""
    if not facts.labels and not facts.memory:
        return None
    from muniment_plugins.governance.budgets.governor import (  # noqa: PLC0415 - lazy
        governor_of,
        is_labelled,
    )

    governor = governor_of(facts)
    if governor is None:
        return "nothing counts what it spends" if is_labelled(facts) else None
    return governor.answer(run, facts, kind, request, scope)


@hookimpl
def after_append(event: Event, facts: RunFacts | None) -> None:
    """Count what the event of a governed run says was spent."""
    if facts is None or not facts.memory:
        return
    from muniment_plugins.governance.budgets.governor import governor_of  # noqa: PLC0415 - lazy

    governor = governor_of(facts)
    if governor is not None:
        try:
            governor.observe(event)
        except BaseException:
            governor.lose_count()
            raise


@hookimpl
def stable_names() -> Iterable[StableName]:
    """Name the program of flows, and the agents in the box."""
    from muniment_plugins.governance.declared_names import NAMES  # noqa: PLC0415 - lazy

    return NAMES


@hookimpl
def rebuild_program(
    ledger: Ledger, run: str, trust_source: bool
) -> Callable[..., object] | None:
    """Make a flow's program from its events; None for every other run."""
    from muniment_plugins.governance.flows.assembly import rebuild  # noqa: PLC0415 - lazy

    return rebuild(ledger, run, trust_source)


@hookimpl(optionalhook=True)
def report_sections(ledger: Ledger, run: str, size: int) -> JsonValue:
    """Say under which policy a run was, and what came of its budgets."""
    from muniment_plugins.governance.views.report_section import (  # noqa: PLC0415 - lazy
        report_sections as sections,
    )

    return sections(ledger, run, size)
