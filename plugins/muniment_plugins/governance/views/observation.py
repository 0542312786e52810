"""Observing: a recorded run of anybody's, judged by a policy that did not govern it.

    observation of 01JD…   data.requested {"run": "01JD…", "leaf": "9f86…"}
                           violation.noted      for each limit that was passed
                           verification.judged, verification.arbitrated
                           result {"within": false, "violations": 2, "verdicts": {…}}

Rules:

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

from muniment import EffectKind, Run
from muniment.encoding.canonical import JsonValue
from muniment.errors import CannotTellError
from muniment.programs.references import Function
from muniment.programs.stable_names import stable_name
from muniment_plugins.governance.budgets.accounts import accounts_of, agent_of
from muniment_plugins.governance.budgets.limits import (
    Account,
    Exceeded,
    exceeded,
    overspent,
)
from muniment_plugins.governance.budgets.spending import performed
from muniment_plugins.governance.documents.manifest import FlowManifest
from muniment_plugins.governance.documents.places import At
from muniment_plugins.governance.documents.policy import GovernancePolicy
from muniment_plugins.governance.documents.words import ENGINES
from muniment_plugins.governance.flows.parts import FunctionFinder, offered_by
from muniment_plugins.governance.verification.arbitration import arbitrate
from muniment_plugins.governance.verification.engines import judged_by
from muniment_plugins.governance.verification.rulebook import Rulebook
from muniment_plugins.governance.views.observed import (
    SeenEvent,
    rows_of,
    subjects_of,
)

if TYPE_CHECKING:
    from muniment.ledger import Ledger
    from muniment.runs.execution import Done

__all__ = ["OBSERVATION", "observation", "observe"]

OBSERVATION = "muniment:observation/1"
Row = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class _Observing:
    """What an observation needs beside its params, where it is not replayed."""

    rows: list[dict[str, JsonValue]]
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
    rows = rows_of(ledger, chosen)  # verified before anything is written
    token = _OBSERVING.set(_observing(ledger, policy, rows))
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


def _checks(policy: GovernancePolicy) -> dict[str, Function]:
    """Return the functions that check the policy's own rules.

    Raises:
        UsageError: one is not there.
        CannotTellError: importing one fails.

    """
    finder = FunctionFinder(Path(policy.place).parent)
    at = At(policy.place, "policy").key("rules")
    return {
        one.rule_id: cast("Function", finder.imported(one.check, at.item(number)))
        for number, one in enumerate(policy.verification.rules.values())
        if one.check is not None
    }


def _observing(
    ledger: Ledger, policy: GovernancePolicy, rows: list[dict[str, JsonValue]]
) -> _Observing:
    checks = _checks(policy)
    offered = offered_by(ledger.plugins, "verification_engines")
    engines = {
        name: offered[name]
        for name in policy.verification.engines
        if name not in ENGINES and name in offered
    }
    return _Observing(rows, checks, engines)


@stable_name(OBSERVATION)
def observation(
    run: Run,
    of: Row,
    policy: Mapping[str, JsonValue],
    flow: Mapping[str, JsonValue] | None,
    kinds: Mapping[str, Mapping[str, str]],
) -> dict[str, object]:
    """Read a run, and note what its policy would not have let happen."""
    here = _OBSERVING.get()

    def read(_: object) -> object:
        if here is None:
            raise AssertionError("an observation is started by observe()")
        return here.rows

    rows = cast("list[Row]", run.effect("data", dict(of), read))
    events = [SeenEvent.of(row) for row in rows]
    rules = GovernancePolicy.from_document(dict(policy), "policy")
    manifest = None if flow is None else FlowManifest.from_document(dict(flow), "flow")
    beyond = _beyond(events, accounts_of(rules, manifest), rules, _kinds(kinds))
    for seq, one in beyond:
        said = {"target": f"event {seq}", "rule": f"budget/{one.limit}"}
        run.record("violation.noted", {**said, "detail": f"{one.budget}: {one.detail}"})
    verdicts = _verdicts(run, events, rules, here)
    passed = all(status in ("pass", "abstain") for status in verdicts.values())
    return {
        "of": of["run"],
        "within": passed and not beyond,
        "violations": len(beyond),
        "verdicts": verdicts,
        "events": len(events),
    }


def _kinds(said: Mapping[str, Mapping[str, str]]) -> dict[str, EffectKind]:
    return {
        name: EffectKind(name, one["source"], one["magnitude"])  # type: ignore[arg-type]  # checked there
        for name, one in said.items()
    }


def _beyond(
    events: list[SeenEvent],
    accounts: list[Account],
    policy: GovernancePolicy,
    kinds: Mapping[str, EffectKind],
) -> list[tuple[int, Exceeded]]:
    """Return the limits that were passed, each with its first effect beyond it."""
    spent = {id(event): name for event, name in performed(events)}
    found: dict[tuple[str, str, str], tuple[int, Exceeded]] = {}
    for event in events:
        charged = [one for one in accounts if _is_charged(one, event)]
        name = spent.get(id(event))
        if name is not None:
            kind = kinds.get(name) or EffectKind(name, "external_oracle", "high")
            for account in charged:
                for one in exceeded(account, kind, event.seconds):
                    key = one.budget, one.limit, name
                    found.setdefault(key, (event.seq, one))
                account.spending.spend(kind, policy.weights)
        for account in charged:
            account.spending.take_in(event)
    for account in accounts:
        for one in overspent(account):
            if (one.budget, one.limit) not in {key[:2] for key in found}:
                found[one.budget, one.limit, ""] = events[-1].seq, one
    return sorted(found.values(), key=lambda one: one[0])


def _is_charged(account: Account, event: SeenEvent) -> bool:
    return account.agent is None or account.agent == agent_of(event.scope or "")


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


def _verdicts(
    run: Run,
    events: list[SeenEvent],
    policy: GovernancePolicy,
    here: _Observing | None,
) -> dict[str, str]:
    """Judge what was reasoned; return the verdict on each target."""
    rules = policy.verification
    checks = _checks(policy) if here is None else here.checks
    book = Rulebook(rules, (), checks, _engines(policy, here))
    found: dict[str, str] = {}
    for subject in subjects_of(events):
        judged = [
            judged_by(engine, subject, book, run.values) for engine in rules.engines
        ]
        for one in judged:
            if one.status != "abstain":
                run.record("verification.judged", one.stated(subject.target))
        resting = () if subject.bundle is None else subject.evidence
        certainty: Iterable[str] = [str(one["determinism"]) for one in resting]
        verdict = arbitrate(subject.target, judged, rules, certainty)
        run.record("verification.arbitrated", verdict.stated())
        found[subject.target] = verdict.status
    return found
