"""What a governed run was allowed, and what it has spent, read from its record.

    policy          max_count of external_oracle   3 of 3      halt
    policy          token_limit                    120 of 500  halt
    flow triage     step_limit                     2 of 4      degrade

Rules:

- Every number is a fold over the events of the run and of those that it called. No
  plugin has to be loaded, and no event states a sum.
- A run that another one called is held to the policy of the run at the top.
- The policy's limits are shared by the runs of one command, and the numbers are theirs
  together; time, and what flows count, are each run's own.
- A fork has spent what its origin had spent up to the event at which it begins.
- Steps, artifacts and evidence are what flows themselves count: facts of the flow whose
  limit it is and of its parts; of all of them, if it is the policy's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

from muniment import EffectKind, Event, RunFacts
from muniment.encoding.canonical import JsonValue
from muniment.errors import MunimentError
from muniment_plugins.governance.authority import own_facts
from muniment_plugins.governance.budgets.accounts import RunAccounts
from muniment_plugins.governance.budgets.adopted import (
    ADOPTED,
    Adopted,
    governing_of,
)
from muniment_plugins.governance.budgets.adoption import halted_by, take_in_earlier
from muniment_plugins.governance.budgets.limits import Account
from muniment_plugins.governance.budgets.siblings import siblings_of
from muniment_plugins.governance.budgets.spending import seconds_of
from muniment_plugins.governance.documents.budgets import ExecutionBudget
from muniment_plugins.governance.documents.words import Action
from muniment_plugins.governance.governed import LABEL

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = [
    "BudgetRow",
    "BudgetTable",
    "budget_table",
    "counted_by_flows",
    "halted_for",
    "is_governed",
]

Number: TypeAlias = "int | float"
_CALLED = "child.completed"
_Line: TypeAlias = "tuple[str, Number | None, Number, int]"


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """One limit, and how much of it is spent."""

    budget: str
    """Whose limit it is: ``policy``, ``flow NAME``, the name of an agent."""
    limit: str
    spent: Number
    allowed: Number
    action: Action
    unknown: int = 0
    """Answers that do not say what they took of it."""

    @property
    def is_used_up(self) -> bool:
        """Whether nothing is left, or nobody can tell what is."""
        return self.spent >= self.allowed or self.unknown > 0

    def to_json(self) -> dict[str, JsonValue]:
        """Return the row as plain JSON."""
        return {
            "budget": self.budget,
            "limit": self.limit,
            "spent": self.spent,
            "allowed": self.allowed,
            "action": self.action,
            "unknown": self.unknown,
        }


@dataclass(frozen=True, slots=True)
class BudgetTable:
    """Under which policy a run is, and its limits."""

    run: str
    """The run whose policy it is: the one at the top of the calls."""
    policy: str
    digest: str
    mode: str
    rows: tuple[BudgetRow, ...]
    accounts: RunAccounts

    def to_json(self) -> dict[str, JsonValue]:
        """Return the table as plain JSON."""
        return {
            "run": self.run,
            "policy": self.policy,
            "digest": self.digest,
            "mode": self.mode,
            "rows": [one.to_json() for one in self.rows],
        }


def is_governed(started: Event) -> bool:
    """Tell whether the run that *started* is held to a policy."""
    labels = started.raw.get("labels")
    named = labels.get(LABEL) if isinstance(labels, dict) else None
    return isinstance(named, str) and named.startswith("sha256:")


def budget_table(ledger: Ledger, run: str) -> BudgetTable | None:
    """Return what *run* was allowed and has spent; None if no policy governs it.

    Raises:
        RefusedError: a document of its record is not that of its digest.
        ErasedError: a document was erased.

    """
    started = next(iter(ledger.events(run=run, limit=1)))
    if not is_governed(started):
        return None
    parent = started.raw.get("parent")
    top = str(parent["root"]) if isinstance(parent, dict) else run
    events = list(ledger.events(run=top))
    adopted = [one for one in own_facts(events) if one.type == ADOPTED]
    if not adopted:
        return None  # it was cut off before it stated its policy
    _, held = governing_of(ledger, top)
    accounts = RunAccounts(held.policy, _kinds(ledger, adopted[-1]))
    accounts.enter(top, None, held.flow)
    accounts.recall(top, events, ledger)
    parts = (*accounts.runs, *_answered(ledger, events))
    made = {one: list(ledger.events(run=one)) for one in parts if one != top}
    made[top] = events  # a fork has what its origin made, for it states that again
    own = [*accounts]
    for other in siblings_of(ledger, held.group, top):
        accounts.recall(other, ledger.events(run=other), ledger)
    take_in_earlier(accounts, events, ledger, held.group)
    rows: list[BudgetRow] = []
    for account in own:
        rows += _entropy(account)
        if account.execution is not None:
            under = accounts.charging(account)
            here = [one for run in under for one in made.get(run, ())]
            lines = _execution(account, account.execution, events, here)
            rows += _rows(account, account.execution, lines)
    policy = held.policy
    told = top, policy.name, policy.digest, policy.mode
    return BudgetTable(*told, tuple(rows), accounts)


def _answered(ledger: Ledger, events: Iterable[Event]) -> Iterator[str]:
    """Yield the runs that a fork did not call, since its origin's record answered.

    Only what they made is nowhere in the record of the fork.
    """
    for event in events:
        if event.type == _CALLED:
            child = _child_of(ledger, event)
            if child is not None:
                yield from _with_called(ledger, child)


def _child_of(ledger: Ledger, called: Event) -> str | None:
    """Return the run whose result a record answered; None if the run itself called it."""
    found = called
    while isinstance(by := found.raw.get("answered_by"), dict) and "seq" in by:
        run, seq = str(by["run"]), cast("int", by["seq"])
        (found,) = ledger.events(run=run, from_seq=seq, limit=1)
    about = found.raw.get("about")
    return (
        str(about["run"]) if found is not called and isinstance(about, dict) else None
    )


def _with_called(ledger: Ledger, run: str) -> Iterator[str]:
    """Yield *run*, and all that it called."""
    yield run
    for child in ledger.children(run):
        yield from _with_called(ledger, child)


def halted_for(ledger: Ledger, run: str) -> str | None:
    """Say why *run*, which a budget halted, is not resumed; None if none halts it."""
    events = list(ledger.events(run=run))
    started = events[0]
    if not is_governed(started) or started.raw.get("parent") is not None:
        return None
    try:
        params = ledger.resolve(started).get("params")
        told = cast("dict[str, object]", params if isinstance(params, dict) else {})
        name = str(started.raw.get("name"))
        facts = RunFacts(run, name, params=told, resumed=True)
        adopted = Adopted.of(events, facts, ledger)
    except MunimentError as error:
        return error.message  # nobody can read what it is held to
    return None if adopted is None else halted_by(events, adopted)


def _kinds(ledger: Ledger, adopted: Event) -> dict[str, EffectKind]:
    """Return the kinds as the record says that they were declared."""
    told = cast(
        "Mapping[str, Mapping[str, str]]", ledger.resolve(adopted).get("kinds", {})
    )
    return {
        name: EffectKind(name, one["source"], one["magnitude"])  # type: ignore[arg-type] # as recorded
        for name, one in told.items()
    }


def _entropy(account: Account) -> Iterator[BudgetRow]:
    budget, spending = account.entropy, account.spending
    if budget is None:
        return
    for one in (budget.total, *budget.per_source.values()):
        whose = f" of {one.source}" if one.source else ""
        sources = spending.counts if one.source is None else [one.source]
        for limit, most, spent in (
            ("max_count", one.max_count, spending.counts),
            ("max_weight", one.max_weight, spending.weights),
        ):
            if most is not None:
                used = sum(spent.get(source, 0) for source in sources)
                name, action = f"{limit}{whose}", one.exhaustion_action
                yield BudgetRow(account.name, name, used, most, action)


def _execution(
    account: Account,
    budget: ExecutionBudget,
    events: Sequence[Event],
    made: Sequence[Event],
) -> Iterator[_Line]:
    """Yield name, limit, what is spent, and how often nobody knows.

    *events* are those of the run at the top, *made* those of the runs that are charged.
    """
    spending = account.spending
    yield "effect_limit", budget.effect_limit, spending.effects, 0
    for kind, most in sorted(budget.effect_limits.items()):
        yield f"effect_limits.{kind}", most, spending.kinds.get(kind, 0), 0
    yield "token_limit", budget.token_limit, spending.tokens, spending.unmetered
    yield "cost_limit", budget.cost_limit, float(spending.cost), spending.unpriced
    yield "wall_time_limit", budget.wall_time_limit, round(seconds_of(events), 3), 0
    yield "trace_event_limit", budget.trace_event_limit, spending.events, 0
    for name, spent in counted_by_flows(made).items():
        yield name, getattr(budget, name), spent, 0


def counted_by_flows(events: Sequence[Event]) -> dict[str, int]:
    """Return limit → what flows made of it; artifacts of a step by its largest."""
    made: dict[tuple[str | None, str], int] = {}
    steps = evidence = 0
    for event in own_facts(events):
        if event.type == "artifact.produced":
            step = event.run, "/".join((event.scope or "").split("/")[:2])
            made[step] = made.get(step, 0) + 1
        elif event.type == "evidence.collected":
            evidence += 1
        elif event.type == "flow.step.started":
            steps += 1
        elif event.type == "effect.degraded" and event.raw.get("effect") == "step":
            steps -= event.raw.get("fallback") != "skip"  # it was started, uncounted
    return {
        "step_limit": steps,
        "artifact_limit": sum(made.values()),
        "artifact_step_limit": max(made.values(), default=0),
        "evidence_limit": evidence,
    }


def _rows(
    account: Account, budget: ExecutionBudget, lines: Iterator[_Line]
) -> Iterator[BudgetRow]:
    for name, most, spent, unknown in lines:
        if most is not None:
            action = budget.exhaustion_action
            yield BudgetRow(account.name, name, spent, most, action, unknown)
