"""Whether a flow is one that a policy allows, before anything is run.

Rules: what a flow declares is within what its policy allows: intents, budgets, their
slices, variance, level. The policy is never made from the flow.
"""

from __future__ import annotations

import os

from muniment.documents.places import At
from muniment.errors import RefusedError
from muniment_plugins.governance.documents.budgets import (
    EntropyBudget,
    EntropySlice,
    Intent,
)
from muniment_plugins.governance.documents.manifest import FlowManifest
from muniment_plugins.governance.documents.policy import (
    GovernancePolicy,
    NondeterminismRules,
)
from muniment_plugins.governance.documents.words import LEVELS, MAGNITUDES, rank

__all__ = [
    "STRICT_VARIABLE",
    "is_strict",
    "refuse_disagreement",
    "refuse_mode",
    "refuse_state",
]

STRICT_VARIABLE = "MUNIMENT_STRICT"
"""Set to 1, or to anything but 0, no, off and false, it forbids dry runs and unsafe
policies."""
_OFF = frozenset({"", "0", "no", "off", "false"})


def is_strict() -> bool:
    """Tell whether the environment forbids dry runs and unsafe policies."""
    return os.environ.get(STRICT_VARIABLE, "").strip().lower() not in _OFF


def refuse_mode(policy: GovernancePolicy, *, dry: bool) -> None:
    """Refuse a dry run, or an unsafe policy, where the environment forbids them.

    Raises:
        RefusedError: it does.

    """
    if not is_strict():
        return
    if dry or policy.mode == "unsafe":
        raise RefusedError(
            f"{STRICT_VARIABLE} forbids {'dry' if dry else 'unsafe'} runs",
            rule="flow/strict",
            place=policy.place,
            remedy=f"unset {STRICT_VARIABLE}, or run it live under a policy that is not "
            "unsafe",
        )


def refuse_state(flow: FlowManifest) -> None:
    """Refuse a flow that is no flow to run yet, or any more.

    Raises:
        RefusedError: it is a draft, or deprecated.

    """
    if flow.flow_state in ("draft", "deprecated"):
        raise RefusedError(
            f"the flow is {flow.flow_state}",
            rule="flow/state",
            place=f"{flow.place}: flow_state",
            remedy="run one that is validated or frozen; plan this one, or run it dry",
        )


def refuse_disagreement(flow: FlowManifest, policy: GovernancePolicy) -> None:
    """Refuse a flow that declares more than its policy allows.

    Raises:
        RefusedError: it does; the message names the key of the manifest.

    """
    at, rules = At(flow.place, "flow"), policy.nondeterminism
    asked = policy.determinism_level
    if asked is not None and rank(flow.determinism_level, LEVELS) > rank(asked, LEVELS):
        raise _refusal(
            f"the level is {flow.determinism_level}, and the policy asks for {asked}",
            at.key("determinism_level"),
            policy,
        )
    _refuse_intents(flow.intents, at.key("nondeterminism_intent"), policy)
    _refuse_budget(flow.entropy_budget, at.key("entropy_budget"), policy)
    for name, part in flow.parts.items():
        there = at.key("parts").key(name)
        _refuse_intents(part.intents, there.key("nondeterminism_intent"), policy)
        if part.entropy_budget is not None:
            budget = there.key("entropy_budget")
            _refuse_budget(part.entropy_budget, budget, policy)
    variance, most = flow.allowed_variance_class, rules.allowed_variance_class
    if (
        variance is not None
        and most is not None
        and rank(variance, MAGNITUDES) > rank(most, MAGNITUDES)
    ):
        raise _refusal(
            f"a variance of {variance} is above {most}",
            at.key("allowed_variance_class"),
            policy,
        )


def _refuse_intents(
    intents: tuple[Intent, ...], at: At, policy: GovernancePolicy
) -> None:
    rules = policy.nondeterminism
    for number, one in enumerate(intents):
        there = at.item(number)
        if one.source not in rules.allowed_intent_sources:
            raise _refusal(
                f"intents for {one.source} are not allowed", there.key("source"), policy
            )
        if rules.require_justification and not one.justification.strip():
            blank = there.key("justification")
            raise _refusal("an intent has no justification", blank, policy)
        _refuse_magnitudes(
            one.min_entropy_magnitude,
            one.max_entropy_magnitude,
            rules,
            there,
            ("min_entropy_magnitude", "max_entropy_magnitude"),
            policy,
        )


def _refuse_budget(budget: EntropyBudget, at: At, policy: GovernancePolicy) -> None:
    rules = policy.nondeterminism
    for number, source in enumerate(budget.allowed_sources):
        if source not in rules.allowed_sources:
            raise _refusal(
                f"the source {source} is not allowed",
                at.key("allowed_sources").item(number),
                policy,
            )
    slices: list[tuple[EntropySlice, At]] = [(budget.total, at)]
    places = at.key("per_source")
    slices += [
        (one, places.item(number))
        for number, one in enumerate(budget.per_source.values())
    ]
    for one, there in slices:
        _refuse_magnitudes(
            one.min_magnitude,
            one.max_magnitude,
            rules,
            there,
            ("min_magnitude", "max_magnitude"),
            policy,
        )


def _refuse_magnitudes(
    least: str,
    most: str,
    rules: NondeterminismRules,
    at: At,
    keys: tuple[str, str],
    policy: GovernancePolicy,
) -> None:
    if rank(most, MAGNITUDES) > rank(rules.max_entropy_magnitude, MAGNITUDES):
        raise _refusal(
            f"{most} is above {rules.max_entropy_magnitude}", at.key(keys[1]), policy
        )
    if rank(least, MAGNITUDES) < rank(rules.min_entropy_magnitude, MAGNITUDES):
        raise _refusal(
            f"{least} is below {rules.min_entropy_magnitude}", at.key(keys[0]), policy
        )


def _refusal(message: str, at: At, policy: GovernancePolicy) -> RefusedError:
    return RefusedError(
        message,
        rule="policy/flow",
        place=f"{at.file}: {at.path}",
        remedy=f"declare less, or have the policy {policy.name} allow it",
    )
