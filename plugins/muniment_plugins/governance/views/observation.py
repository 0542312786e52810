"""Observing: a recorded run of anybody's, judged by a policy that did not govern it.

    observation of 01JD…   data.requested {"run": "01JD…", "leaf": "9f86…"}
                           violation.noted      for each limit that was passed
                           verification.judged, verification.arbitrated
                           result {"within": false, "violations": 2, "verdicts": {…},
                                   "compared": […], "not_compared": [{…}]}

Rules:

- ``within`` is true only where each member of the policy that asks something was compared
  (`coverage`), and the record has all: no mark, nothing that bypassed its recorder. Where
  that is not so, and nothing is beyond, it is null: nobody can tell.
- What the run called is observed with it, and spends from the same budgets.
- Nothing of the observed run is performed; its record is read and verified.
- The budgets are those of the policy, and of a flow if one is given; each limit that was
  passed is noted once, at the first effect beyond it.
- What was reasoned is judged by the policy's engines, as the steps of a flow are. Nobody
  is asked: an *escalate* is no *pass*.
- An observation is a run of its own, which replays without the run that it is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from muniment import Run
from muniment.documents.places import At
from muniment.encoding.canonical import JsonValue
from muniment.errors import CannotTellError
from muniment.programs.finder import FunctionFinder
from muniment.programs.references import Function
from muniment.programs.stable_names import stable_name
from muniment.runs.halts.raised import passes_through
from muniment_plugins.governance.budgets.accounts import accounts_of
from muniment_plugins.governance.documents.manifest import FlowManifest
from muniment_plugins.governance.documents.policy import GovernancePolicy
from muniment_plugins.governance.documents.words import ENGINES
from muniment_plugins.governance.flows.failed import told
from muniment_plugins.governance.flows.parts import offered_by
from muniment_plugins.governance.flows.steps.function_lanes import FunctionLane
from muniment_plugins.governance.verification.arbitration import arbitrate
from muniment_plugins.governance.verification.engines import judged_by
from muniment_plugins.governance.verification.rulebook import Rulebook
from muniment_plugins.governance.verification.subjects import (
    EngineVerdict,
    VerificationSubject,
)
from muniment_plugins.governance.views.beyond import (
    declared_beyond,
    doubts_of,
    kinds_of,
    limits_passed,
    made_beyond,
    notes,
    untold,
    used_kinds,
)
from muniment_plugins.governance.views.coverage import (
    FLOW_ROWS,
    POLICY_ROWS,
    OnRecord,
    covered,
)
from muniment_plugins.governance.views.observed import (
    ObservedRun,
    SeenEvent,
    seen_of,
    subjects_of,
)

if TYPE_CHECKING:
    from muniment.ledger import Ledger
    from muniment.runs.execution import Done

__all__ = ["EARLIER", "OBSERVATION", "earlier_observation", "observation", "observe"]

OBSERVATION = "muniment:observation/2"
EARLIER = "muniment:observation/1"
Row = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class _Observing:
    """What an observation needs beside its params, where it is not replayed."""

    seen: dict[str, JsonValue]
    checks: Mapping[str, Function] = field(default_factory=dict[str, Function])
    engines: Mapping[str, Function] = field(default_factory=dict[str, Function])


_OBSERVING: ContextVar[_Observing | None] = ContextVar(
    "muniment_observing", default=None
)


def observe(
    ledger: Ledger,
    run: str,
    policy: GovernancePolicy,
    flow: FlowManifest | None = None,
) -> Done:
    """Judge the recorded *run* by *policy*, and by the budgets of *flow*.

    Raises:
        UsageError: the policy names a function that is not there.
        WrongError: the record of the run does not verify.

    """
    chosen = ledger.run_id(run)
    last = [event.hash for event in ledger.events(run=chosen)][-1]
    (started,) = ledger.events(run=chosen, limit=1)
    kinds = {
        name: {"source": one.source, "magnitude": one.magnitude}
        for name, one in sorted(ledger.effect_kinds.items())
    }
    seen = seen_of(ledger, chosen)  # verified before anything is written
    token = _OBSERVING.set(_observing(ledger, policy, flow, seen))
    try:
        return ledger.execute(
            observation,
            params={
                "of": {"run": chosen, "leaf": last},
                "policy": dict(policy.document),
                "flow": None if flow is None else dict(flow.document),
                "kinds": kinds,
            },
            name=f"observation of {chosen}",
            tenant=started.tenant,
        )
    finally:
        _OBSERVING.reset(token)


def _checks(
    policy: GovernancePolicy, flow: FlowManifest | None = None
) -> dict[str, Function]:
    """Return the functions that check the policy's own rules, and the flow's gates.

    Raises:
        UsageError: one is not there.
        CannotTellError: importing one fails.

    """
    finder = FunctionFinder(Path(policy.place).parent)
    at = At(policy.place, "policy").key("rules")
    found = {
        one.rule_id: cast("Function", finder.imported(one.check, at.item(number)))
        for number, one in enumerate(policy.verification.rules.values())
        if one.check is not None
    }
    if flow is not None:
        gates = At(flow.place, "flow").key("verification_gates")
        own = FunctionFinder(flow.folder)
        for number, name in enumerate(flow.verification_gates):
            if ":" in name and name not in found:
                found[name] = cast("Function", own.imported(name, gates.item(number)))
    return found


def _observing(
    ledger: Ledger,
    policy: GovernancePolicy,
    flow: FlowManifest | None,
    seen: dict[str, JsonValue],
) -> _Observing:
    checks = _checks(policy, flow)
    offered = offered_by(ledger.plugins, "verification_engines")
    engines = {
        name: offered[name]
        for name in policy.verification.engines
        if name not in ENGINES and name in offered
    }
    return _Observing(seen, checks, engines)


def _read(_: object) -> object:
    here = _OBSERVING.get()
    if here is None:
        raise AssertionError("an observation is started by observe()")
    return here.seen


@stable_name(OBSERVATION)
def observation(
    run: Run,
    of: Row,
    policy: Mapping[str, JsonValue],
    flow: Mapping[str, JsonValue] | None,
    kinds: Mapping[str, Mapping[str, str]],
) -> dict[str, object]:
    """Read a run, and note what its policy would not have let happen.

    The result says what was compared of policy and flow, and what could not be.
    """
    seen = cast("Mapping[str, list[Row]]", run.effect("data", dict(of), _read))
    events = [SeenEvent.of(row) for row in seen["rows"]]
    runs = [ObservedRun.of(row) for row in seen["runs"]]
    rules = GovernancePolicy.from_record(dict(policy), "policy")
    manifest = None if flow is None else FlowManifest.from_record(dict(flow), "flow")
    accounts = accounts_of(rules, manifest)
    beyond = limits_passed(events, accounts, rules, kinds_of(kinds), runs)
    noted = [*notes(beyond), *made_beyond(runs, rules, manifest)]
    noted += declared_beyond(runs, rules, manifest)
    for target, rule, detail in noted:
        run.record(
            "violation.noted", {"target": target, "rule": rule, "detail": detail}
        )
    verdicts = _judged(run, events, runs, rules, manifest)
    passed = all(status in ("pass", "abstain") for status in verdicts.values())
    said = covered(
        [("policy", rules.document, POLICY_ROWS)]
        + ([] if manifest is None else [("flow", manifest.document, FLOW_ROWS)]),
        OnRecord(
            declares=manifest is not None or any(one.flow for one in runs),
            reasons=bool(verdicts),
            kinds=frozenset({*kinds, *used_kinds(events)}),
        ),
    )
    missing = [*said.missing, *doubts_of(runs), *untold(accounts, beyond)]
    within = False if noted or not passed else None if missing else True
    return {
        "of": of["run"],
        "within": within,
        "violations": len(noted),
        "verdicts": verdicts,
        "events": len(events),
        "runs": len(runs),
        "members": len(said.compared) + len(said.missing),
        "compared": [*said.compared],
        "not_compared": [{"what": what, "because": why} for what, why in missing],
    }


def _judged(
    run: Run,
    events: list[SeenEvent],
    runs: list[ObservedRun],
    policy: GovernancePolicy,
    flow: FlowManifest | None,
) -> dict[str, str]:
    """Judge each run by itself; return the verdict on each target."""
    found: dict[str, str] = {}
    for one in runs:
        own = [event for event in events if event.run == one.run]
        gates = flow.verification_gates if flow and one.parent is None else ()
        subjects = subjects_of(own, one.steps or None)
        said = _verdicts(run, subjects, policy, _book(policy, flow, gates))
        prefix = "" if one.parent is None else f"run {one.run}: "
        found |= {f"{prefix}{target}": status for target, status in said.items()}
    return found


@stable_name(EARLIER)
def earlier_observation(
    run: Run,
    of: Row,
    policy: Mapping[str, JsonValue],
    flow: Mapping[str, JsonValue] | None,
    kinds: Mapping[str, Mapping[str, str]],
) -> dict[str, object]:
    """Do as observations did that saw one run alone; for the records that have them."""
    rows = cast("list[Row]", run.effect("data", dict(of), _read))  # of one run
    events = [SeenEvent.of(row) for row in rows]
    rules = GovernancePolicy.from_record(dict(policy), "policy")
    manifest = None if flow is None else FlowManifest.from_record(dict(flow), "flow")
    beyond = limits_passed(events, accounts_of(rules, manifest), rules, kinds_of(kinds))
    for seq, one in beyond:
        said = {"target": f"event {seq}", "rule": f"budget/{one.limit}"}
        run.record("violation.noted", {**said, "detail": f"{one.budget}: {one.detail}"})
    book = _book(rules, manifest, ())
    verdicts = _verdicts(run, subjects_of(events), rules, book, earlier=True)
    passed = all(status in ("pass", "abstain") for status in verdicts.values())
    return {
        "of": of["run"],
        "within": passed and not beyond,
        "violations": len(beyond),
        "verdicts": verdicts,
        "events": len(events),
    }


def _engines(
    policy: GovernancePolicy, here: _Observing | None
) -> Mapping[str, Function]:
    """Return the engines that plugins offer, of those that *policy* names.

    Raises:
        CannotTellError: one of them is not here.

    """
    known: Mapping[str, Function] = {} if here is None else here.engines
    for name in policy.verification.engines:
        if name not in ENGINES and name not in known:
            raise CannotTellError(
                f"nothing here offers the engine {name!r:.80}",
                rule="policy/engine",
                place=policy.place,
                remedy="install or activate the plugin that does",
            )
    return known


def _asked(
    engine: str, subject: VerificationSubject, book: Rulebook, run: Run
) -> EngineVerdict:
    """Return what *engine* says.

    Raises:
        CannotTellError: it, or a check of the policy, raised something.

    """
    try:
        with FunctionLane.of(run):
            return judged_by(engine, subject, book, run.values)
    except BaseException as error:
        if passes_through(error):
            raise
        raise CannotTellError(
            f"the engine {engine} raised {told(error)}",
            rule="flow/rule",
            place=subject.target,
            remedy="correct the check or the engine; --debug shows the traceback",
        ) from error


def _book(
    policy: GovernancePolicy, flow: FlowManifest | None, gates: tuple[str, ...]
) -> Rulebook:
    here = _OBSERVING.get()
    checks = _checks(policy, flow) if here is None else here.checks
    return Rulebook(policy.verification, gates, checks, _engines(policy, here))


def _verdicts(
    run: Run,
    subjects: Iterable[VerificationSubject],
    policy: GovernancePolicy,
    book: Rulebook,
    *,
    earlier: bool = False,
) -> dict[str, str]:
    """Judge the *subjects*; return the verdict on each target."""
    rules = policy.verification
    found: dict[str, str] = {}
    for subject in subjects:
        judged = [_asked(engine, subject, book, run) for engine in rules.engines]
        for one in judged:
            if one.status != "abstain":
                run.record("verification.judged", one.stated(subject.target))
        judged_alone = subject.is_flow or (earlier and subject.bundle is None)
        resting = () if judged_alone else subject.evidence
        verdict = arbitrate(
            subject.target,
            judged,
            rules,
            [str(one["determinism"]) for one in resting],
            even_unjudged=not earlier,
        )
        run.record("verification.arbitrated", verdict.stated())
        found[subject.target] = verdict.status
    return found
