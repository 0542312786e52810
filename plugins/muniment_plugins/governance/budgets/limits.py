"""Whether one more effect is within what a policy, a flow or a step allows.

Rules:

- What was never allowed is a *violation*, which stops: a source that is not listed, an
  effect that no intent declares, a magnitude below the least or above the variance class.
- What was allowed and is used up is *exhausted*: a ceiling of magnitude, counts, weights,
  tokens, cost, time, events. The budget says what happens then.
- Each limit is looked at before the effect is performed. Tokens, cost, time and events
  are known afterwards, so the effect that reaches such a limit is the last one.
- A limit on tokens or cost is exhausted by an answer that does not say them: nobody can
  tell what is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from muniment import EffectKind
from muniment.encoding.canonical import JsonValue
from muniment.events.effect_kinds import Magnitude
from muniment_plugins.governance.budgets.intents import declared
from muniment_plugins.governance.budgets.spending import UNCOUNTED, Spending
from muniment_plugins.governance.documents.budgets import (
    EntropyBudget,
    EntropySlice,
    ExecutionBudget,
    Intent,
)
from muniment_plugins.governance.documents.words import MAGNITUDES, Action, rank

__all__ = ["OVERSPENT", "Account", "Exceeded", "exceeded", "overspent"]

OVERSPENT: Literal["overspent"] = "overspent"
"""The action of a limit that an answer went beyond: nothing was left to be done."""

_Limit: TypeAlias = "tuple[str, float | None, float]"


@dataclass(frozen=True, slots=True)
class Exceeded:
    """A limit that one more effect would go beyond."""

    budget: str
    """Whose limit it is: ``policy``, ``flow NAME``, ``step 0-agent``."""
    limit: str
    """Its name: ``max_count``, ``token_limit``, ``intent``."""
    detail: str
    action: Action | Literal["overspent"]
    fallback: JsonValue = None
    is_violation: bool = False
    """Whether it was never allowed, rather than used up."""
    then: Action | None = None
    """Of a limit that was overspent: what its budget does once it is used up."""

    @property
    def error_type(self) -> str:
        """What the failure of the effect is called."""
        return "PolicyViolated" if self.is_violation else "BudgetExhausted"


@dataclass(slots=True)
class Account:
    """What one document allows, and what was spent of it."""

    name: str
    entropy: EntropyBudget | None
    execution: ExecutionBudget | None
    intents: tuple[Intent, ...] | None
    """None where nothing has to be declared."""
    weights: Mapping[Magnitude, int]
    variance: Magnitude | None = None
    agent: str | None = None
    """The agent whose steps are charged to it; None for all of the run."""
    spending: Spending = field(default_factory=Spending)


def exceeded(account: Account, kind: EffectKind, seconds: float) -> list[Exceeded]:
    """Return the limits that one more effect of *kind* would go beyond.

    *seconds* is how long the run has been under way.
    """
    return [] if kind.name in UNCOUNTED else [*_exceeded(account, kind, seconds)]


def _exceeded(account: Account, kind: EffectKind, seconds: float) -> Iterator[Exceeded]:
    yield from _violated(account, kind)
    if account.entropy is not None:
        own = account.entropy.per_source.get(kind.source)
        for one in (own, account.entropy.total):
            if one is not None:
                yield from _spent(account, one, kind)
    if account.execution is not None:
        yield from _used(account, account.execution, kind, seconds)


def overspent(
    account: Account,
    seconds: float = 0.0,
    more_events: int = 0,
    *,
    even_unknown: bool = True,
) -> list[Exceeded]:
    """Return the limits that what happened so far has gone beyond.

    An answer tells its tokens and its cost when it is too late to refuse it, and time
    passes in an effect, and after the last. *seconds* is how long the run has been under
    way, *more_events* how many events are about to be written. Whoever observes does not
    hold a run to what is unknown.
    """
    budget, spending = account.execution, account.spending
    if budget is None:
        return [*_overdrawn(account)]
    kinds = budget.effect_limits.items()
    limits: list[_Limit] = [
        ("token_limit", budget.token_limit, spending.tokens),
        ("cost_limit", budget.cost_limit, float(spending.cost)),
        ("wall_time_limit", budget.wall_time_limit, seconds),
        ("trace_event_limit", budget.trace_event_limit, spending.events + more_events),
        ("effect_limit", budget.effect_limit, spending.effects),
        *((f"effect_limits.{k}", most, spending.kinds.get(k, 0)) for k, most in kinds),
    ]
    told = [
        (name, f"{used:.12g} of {limit:.12g} is spent")
        for name, limit, used in limits
        if limit is not None and used > limit
    ]
    told += _unknown(budget, spending) if even_unknown else ()
    then = budget.exhaustion_action
    return [
        *_overdrawn(account),
        *(
            Exceeded(account.name, name, detail, OVERSPENT, then=then)
            for name, detail in told
        ),
    ]


def _overdrawn(account: Account) -> Iterator[Exceeded]:
    """Yield the sums that attempts inside an effect went beyond."""
    entropy, spending = account.entropy, account.spending
    slices = () if entropy is None else (entropy.total, *entropy.per_source.values())
    for one in slices:
        sources = spending.counts if one.source is None else [one.source]
        for name, most, spent in (
            ("max_count", one.max_count, spending.counts),
            ("max_weight", one.max_weight, spending.weights),
        ):
            used = sum(spent.get(source, 0) for source in sources)
            if most is not None and used > most:
                detail = f"{used} of {most} is spent"
                then = one.exhaustion_action
                yield Exceeded(account.name, name, detail, OVERSPENT, then=then)


def _unknown(budget: ExecutionBudget, spending: Spending) -> Iterator[tuple[str, str]]:
    """Yield the limits of which nobody can tell what is left, and why."""
    for name, limit, unknown, what in (
        ("token_limit", budget.token_limit, spending.unmetered, "tokens"),
        ("cost_limit", budget.cost_limit, spending.unpriced, "cost"),
    ):
        if limit is not None and unknown:
            yield name, f"{unknown} of the answers do not say their {what}"


def _violated(account: Account, kind: EffectKind) -> Iterator[Exceeded]:
    def violation(limit: str, detail: str) -> Exceeded:
        return Exceeded(account.name, limit, detail, "halt", is_violation=True)

    if account.intents is not None and (why := declared(kind, account.intents)):
        yield violation("intent", why)
    what, budget = f"{kind.name} has the magnitude {kind.magnitude}", account.entropy
    if account.variance and _above(kind.magnitude, account.variance):
        yield violation("variance", f"{what}; the variance class is {account.variance}")
    if budget is None:
        return
    if kind.source not in budget.allowed_sources:
        allowed = ", ".join(budget.allowed_sources)
        yield violation(
            "source", f"{kind.name} is of {kind.source}; allowed: {allowed}"
        )
    least = budget.per_source.get(kind.source, budget.total).min_magnitude
    if _above(least, kind.magnitude):
        yield violation("min_magnitude", f"{what}; the least allowed is {least}")


def _spent(
    account: Account, budget: EntropySlice, kind: EffectKind
) -> Iterator[Exceeded]:
    """Yield the ceilings and sums of *budget* that another effect goes beyond."""
    spending, whose = account.spending, f" of {budget.source}" if budget.source else ""

    def used_up(limit: str, detail: str) -> Exceeded:
        told = (account.name, limit, detail, budget.exhaustion_action)
        return Exceeded(*told, budget.fallback)

    if _above(kind.magnitude, budget.max_magnitude):
        yield used_up(
            "max_magnitude",
            f"{kind.name} has the magnitude {kind.magnitude}, above {budget.max_magnitude}",
        )
    sources = spending.counts if budget.source is None else [budget.source]
    count = sum(spending.counts.get(one, 0) for one in sources)
    weight = sum(spending.weights.get(one, 0) for one in sources)
    if budget.max_count is not None and count + 1 > budget.max_count:
        yield used_up(
            "max_count", f"{count} of {budget.max_count} effects{whose} are spent"
        )
    more = account.weights[kind.magnitude]
    if budget.max_weight is not None and weight + more > budget.max_weight:
        left = f"{weight} of {budget.max_weight}{whose} is spent, and it weighs {more}"
        yield used_up("max_weight", left)


def _used(
    account: Account, budget: ExecutionBudget, kind: EffectKind, seconds: float
) -> Iterator[Exceeded]:
    spending, most = account.spending, budget.effect_limits.get(kind.name)
    limits: list[_Limit] = [
        ("effect_limit", budget.effect_limit, spending.effects),
        (f"effect_limits.{kind.name}", most, spending.kinds.get(kind.name, 0)),
        ("token_limit", budget.token_limit, spending.tokens),
        ("cost_limit", budget.cost_limit, float(spending.cost)),
        ("wall_time_limit", budget.wall_time_limit, seconds),
        ("trace_event_limit", budget.trace_event_limit, spending.events),
    ]
    action, fallback = budget.exhaustion_action, budget.fallback
    for name, limit, used in limits:
        if limit is not None and used >= limit:
            detail = f"{used:.12g} of {limit:.12g} is spent"
            yield Exceeded(account.name, name, detail, action, fallback)
    for name, detail in _unknown(budget, spending):
        yield Exceeded(account.name, name, detail, action, fallback)


def _above(one: str, other: str) -> bool:
    return rank(one, MAGNITUDES) > rank(other, MAGNITUDES)
