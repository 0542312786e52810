"""What an observed run went beyond, and what of it nobody can tell.

    event 12   budget/token_limit   policy: 2100 of 2000 is spent
    run 01JD…  budget/step_limit    policy: 4 of 3 were made
    flow       policy/flow          determinism_level: …

Rules:

- Each limit that was passed is noted once, at the first effect beyond it, or at the end.
- An answer that does not say what it took makes a limit one that cannot be compared.
- Observations of the earlier version note what they did: of one run, by its effects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from muniment import EffectKind
from muniment.errors import RefusedError
from muniment_plugins.governance.budgets.accounts import agent_of
from muniment_plugins.governance.budgets.limits import (
    Account,
    Exceeded,
    exceeded,
    overspent,
)
from muniment_plugins.governance.budgets.spending import performed
from muniment_plugins.governance.documents.manifest import FlowManifest
from muniment_plugins.governance.documents.policy import GovernancePolicy
from muniment_plugins.governance.flows.agreement import refuse_disagreement
from muniment_plugins.governance.views.observed import ObservedRun, SeenEvent

__all__ = [
    "declared_beyond",
    "doubts_of",
    "kinds_of",
    "limits_passed",
    "made_beyond",
    "notes",
    "untold",
    "used_kinds",
]

_EARLIER_OVERSPENT = ("token_limit", "cost_limit")
"""What observations of the earlier version noted beyond the last effect."""


def kinds_of(said: Mapping[str, Mapping[str, str]]) -> dict[str, EffectKind]:
    """Return the effect kinds as an observation recorded that they were declared."""
    return {
        name: EffectKind(name, one["source"], one["magnitude"])  # type: ignore[arg-type]  # checked there
        for name, one in said.items()
    }


def used_kinds(events: list[SeenEvent]) -> set[str]:
    """Return the kinds of the effects that the *events* request."""
    return {
        one.type.removesuffix(".requested")
        for one in events
        if one.type.endswith(".requested")
    }


def limits_passed(
    events: list[SeenEvent],
    accounts: list[Account],
    policy: GovernancePolicy,
    kinds: Mapping[str, EffectKind],
    runs: list[ObservedRun] | None = None,
) -> list[tuple[int, Exceeded]]:
    """Return the limits that were passed, each with its first effect beyond it."""
    each = [None] if runs is None else [one.run for one in runs]
    top = each[0]
    spent = {
        id(event): name
        for run in each
        for event, name in performed([one for one in events if one.run == run])
    }
    found: dict[tuple[str, str, str], tuple[int, Exceeded]] = {}
    for event in events:
        charged = [one for one in accounts if _is_charged(one, event, top)]
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
        seconds = 0.0 if runs is None else events[-1].seconds
        for one in overspent(account, seconds, even_unknown=False):
            if runs is None and one.limit not in _EARLIER_OVERSPENT:
                continue
            if (one.budget, one.limit) not in {key[:2] for key in found}:
                found[one.budget, one.limit, ""] = events[-1].seq, one
    return sorted(found.values(), key=lambda one: one[0])


def _is_charged(account: Account, event: SeenEvent, top: str | None) -> bool:
    own = event.run == top and account.agent == agent_of(event.scope or "")
    return account.agent is None or own


def notes(
    beyond: list[tuple[int, Exceeded]],
) -> Iterator[tuple[str, str, str]]:
    """Yield target, rule and detail of each limit that was passed."""
    for seq, one in beyond:
        yield f"event {seq}", f"budget/{one.limit}", f"{one.budget}: {one.detail}"


def made_beyond(
    runs: list[ObservedRun], policy: GovernancePolicy, flow: FlowManifest | None
) -> Iterator[tuple[str, str, str]]:
    """Yield the limits of a flow that a run made more than."""
    for one in runs:
        budgets = [("policy", policy.execution_budget)]
        if flow is not None and one.parent is None:
            budgets.append((f"flow {flow.flow_id}", flow.execution_budget))
        for name, budget in budgets:
            for limit, made in one.made.items():
                most = getattr(budget, limit)
                if most is not None and made > most:
                    detail = f"{name}: {made} of {most} were made"
                    yield f"run {one.run}", f"budget/{limit}", detail


def declared_beyond(
    runs: list[ObservedRun], policy: GovernancePolicy, flow: FlowManifest | None
) -> Iterator[tuple[str, str, str]]:
    """Yield what a flow declares beyond its policy: of each, what is refused first."""
    documents = [(f"run {one.run}", one.flow) for one in runs if one.flow is not None]
    found = [
        (target, FlowManifest.from_record(dict(one), "flow"))
        for target, one in documents
    ]
    for target, one in found + ([] if flow is None else [("flow", flow)]):
        try:
            refuse_disagreement(one, policy)
        except RefusedError as error:
            yield target, "policy/flow", f"{error.place}: {error.message}"


def untold(
    accounts: list[Account], beyond: list[tuple[int, Exceeded]]
) -> Iterator[tuple[str, str]]:
    """Yield the limits of which the answers do not say what they took."""
    told = {(one.budget, one.limit) for _, one in beyond}
    for account in accounts:
        budget, spent = account.execution, account.spending
        if budget is None:
            continue
        for limit, most, unknown in (
            ("token_limit", budget.token_limit, spent.unmetered),
            ("cost_limit", budget.cost_limit, spent.unpriced),
        ):
            if most is not None and unknown and (account.name, limit) not in told:
                why = f"{unknown} of the answers do not say it"
                yield f"{account.name}: {limit}", why


def doubts_of(runs: list[ObservedRun]) -> Iterator[tuple[str, str]]:
    """Yield why the records do not have all."""
    for one in runs:
        yield from ((f"run {one.run}", why) for why in one.doubts)
