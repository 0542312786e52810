"""Intents: uncertainty that is declared, with a justification, before it is used.

Rules:

- An intent is found for an effect by its kind first: a model call is ``llm``, retrieval
  is ``retrieval``, a person is ``human``. A kind without an intent of its own is found by
  its source.
- What is performed again in a replay, and compared, needs no intent: nothing is uncertain
  about it. Neither do timers, and calls of runs.
- A flow declares nothing that its policy does not allow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from muniment import EffectKind
from muniment_plugins.governance.budgets.spending import UNCOUNTED
from muniment_plugins.governance.documents.budgets import EntropyBudget, Intent
from muniment_plugins.governance.documents.manifest import FlowManifest
from muniment_plugins.governance.documents.policy import (
    GovernancePolicy,
    NondeterminismRules,
)
from muniment_plugins.governance.documents.words import (
    MAGNITUDES,
    IntentSource,
    rank,
)

__all__ = ["declared", "intent_of", "undeclarable"]

_BY_KIND: dict[str, IntentSource] = {
    "llm": "llm",
    "retrieval": "retrieval",
    "data": "retrieval",
    "human": "human",
}
_BY_SOURCE: dict[str, IntentSource] = {
    "seeded_rng": "llm",
    "data": "retrieval",
    "human_input": "human",
    "external_oracle": "external",
}


def intent_of(kind: EffectKind) -> tuple[IntentSource, IntentSource]:
    """Return the sources by which an intent covers *kind*: by its kind, by its source."""
    by_source = _BY_SOURCE[kind.source]
    return _BY_KIND.get(kind.name, by_source), by_source


def declared(kind: EffectKind, intents: Iterable[Intent]) -> str | None:
    """Say why no intent covers an effect of *kind*; None if one does."""
    if kind.reproducible or kind.name in UNCOUNTED:
        return None
    listed = list(intents)
    for source in intent_of(kind):
        found = [one for one in listed if one.source == source]
        if found:
            if any(one.covers(kind.magnitude) for one in found):
                return None
            return (
                f"the intent {source} does not cover the magnitude {kind.magnitude} of "
                f"{kind.name}"
            )
    return f"no intent declares {kind.name} ({kind.source}, {kind.magnitude})"


def undeclarable(flow: FlowManifest, policy: GovernancePolicy) -> str | None:
    """Say what *flow* declares that *policy* does not allow; None if it allows all."""
    return next(_undeclarable(flow, policy), None)


def _undeclarable(flow: FlowManifest, policy: GovernancePolicy) -> Iterator[str]:
    own = [one for part in flow.parts.values() for one in part.intents]
    for intent in (*flow.intents, *own):
        yield from _intent(intent, policy.nondeterminism)
    for budget in _budgets(flow):
        yield from _budget(budget, policy.nondeterminism)
    variance = flow.allowed_variance_class
    allowed = policy.nondeterminism.allowed_variance_class
    if variance and allowed and _below(allowed, variance):
        yield f"its variance class {variance} is above {allowed}"


def _intent(intent: Intent, rules: NondeterminismRules) -> Iterator[str]:
    what = f"the intent {intent.source}"
    if intent.source not in rules.allowed_intent_sources:
        yield f"{what} is not allowed"
    if rules.require_justification and not intent.justification.strip():
        yield f"{what} has no justification"
    if _below(intent.min_entropy_magnitude, rules.min_entropy_magnitude):
        yield f"{what} begins below {rules.min_entropy_magnitude}"
    if _below(rules.max_entropy_magnitude, intent.max_entropy_magnitude):
        yield f"{what} goes above {rules.max_entropy_magnitude}"


def _budget(budget: EntropyBudget, rules: NondeterminismRules) -> Iterator[str]:
    for source in budget.allowed_sources:
        if source not in rules.allowed_sources:
            yield f"the source {source} of its budget is not allowed"
    for one in (budget.total, *budget.per_source.values()):
        if _below(one.min_magnitude, rules.min_entropy_magnitude):
            yield f"its budget begins below {rules.min_entropy_magnitude}"
        if _below(rules.max_entropy_magnitude, one.max_magnitude):
            yield f"its budget goes above {rules.max_entropy_magnitude}"


def _budgets(flow: FlowManifest) -> list[EntropyBudget]:
    parts = [part.entropy_budget for part in flow.parts.values()]
    return [flow.entropy_budget, *(one for one in parts if one is not None)]


def _below(one: str, other: str) -> bool:
    return rank(one, MAGNITUDES) < rank(other, MAGNITUDES)
