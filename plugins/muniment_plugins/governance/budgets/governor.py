"""The governor of a run and of the runs that it calls: it lets effects happen, or not.

Rules:

- An effect is charged to the policy, to each flow that it is part of, and to its step.
  All of them are asked first, and it is spent in all of them at once: of two threads, one
  gets what is left.
- The strictest answer counts: halt, then degrade, then a mark.
- A run that was halted performs nothing more, and fails, whatever its program swallows.
- Under an unsafe policy nothing stops: what would have is noted, and the run is marked.
- A limit is stated once, when it is reached; an answer of a fallback each time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from muniment import EffectFailed, EffectKind, Event, GateAnswer, Run, RunFacts
from muniment.encoding.canonical import JsonValue
from muniment.formats.statement import BlobRef
from muniment.hookspecs import OpenLedger
from muniment_plugins.governance.budgets.fallbacks import (
    NoCachedAnswer,
    answer_of,
    spelt,
)
from muniment_plugins.governance.budgets.limits import Account, Exceeded, exceeded
from muniment_plugins.governance.budgets.spending import (
    is_another,
    performed,
    seconds_of,
)
from muniment_plugins.governance.documents.manifest import FlowManifest
from muniment_plugins.governance.documents.policy import GovernancePolicy

__all__ = [
    "MARK",
    "Governor",
    "accounts_of",
    "agent_of",
    "flow_of",
    "governor_of",
]

MARK = "non_certifiable"
_MEMORY = "governance"


def governor_of(facts: RunFacts | None) -> Governor | None:
    """Return the governor of a run, if it is governed and runs in this process."""
    found = None if facts is None else facts.memory.get(_MEMORY)
    return found if isinstance(found, Governor) else None


@dataclass(slots=True)
class Governor:
    """What governs one run, and those that it calls."""

    policy: GovernancePolicy
    lane: Run
    """Of the plugin, in the run at the top."""
    ledger: OpenLedger
    kinds: Mapping[str, EffectKind]
    """As they were declared when the run began."""
    functions: Mapping[str, Callable[..., object]]
    """The fallbacks that are functions."""
    halted: Exceeded | None = None
    before: float = 0.0
    """Seconds that the run was under way in earlier processes."""
    _began: float = field(default_factory=time.monotonic)
    _accounts: dict[str, list[Account]] = field(
        default_factory=dict[str, list[Account]]
    )
    """Run → its flow's account, then those of its steps, by the scopes of the steps."""
    _above: dict[str, str | None] = field(default_factory=dict[str, str | None])
    _noted: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _own: Account = field(init=False)

    def __post_init__(self) -> None:
        self._own, *_ = accounts_of(self.policy, None)

    def keep(self, facts: RunFacts) -> None:
        """Be found as the governor of the run with these facts, and of its children."""
        facts.memory[_MEMORY] = self

    @property
    def seconds(self) -> float:
        """How long the run has been under way."""
        return self.before + time.monotonic() - self._began

    # -- runs and their accounts -----------------------------------------------------

    def enter(
        self, run: str, parent: str | None, flow: FlowManifest | None = None
    ) -> None:
        """Take in a *run*, which *parent* called, with the flow that it is."""
        self._above[run] = parent
        if flow is not None and run not in self._accounts:
            _, *self._accounts[run] = accounts_of(self.policy, flow)

    def accounts(self, run: str, scope: str) -> list[Account]:
        """Return the accounts that an effect in *scope* of *run* is charged to."""
        found = [self._own]
        at: str | None = run
        while at is not None:
            mine = self._accounts.get(at, [])
            found += mine[:1]
            if at == run and mine:
                agent = agent_of(scope)
                found += [one for one in mine[1:] if one.agent == agent]
            at = self._above.get(at)
        return found

    # -- what was recorded -----------------------------------------------------------

    def recall(self, run: str, events: Iterable[Event]) -> None:
        """Count what the record of *run* says was spent, and by the runs it called."""
        told = list(events)
        for asked, name in performed(told):
            kind = self.kinds.get(name) or _unknown(name)
            for account in self.accounts(run, asked.scope or ""):
                account.spending.spend(kind, self.policy.weights)
        for event in told:
            self._take_in(run, event)
        for child in self.ledger.children(run):
            recorded = list(self.ledger.events(run=child))
            self.enter(child, run, flow_of(_params(self.ledger, recorded[0]), child))
            self.recall(child, recorded)

    def resumed(self, events: Iterable[Event]) -> None:
        """Count the time that the run has taken so far."""
        self.before = seconds_of(events)

    def observe(self, event: Event) -> None:
        """Count what *event*, which was just written, says was spent."""
        if event.run is None:
            return
        stem, _, verb = event.type.rpartition(".")
        kind = self.kinds.get(stem)
        with self._lock:
            self._take_in(event.run, event)
            if verb == "attempted" and kind is not None and is_another(event):
                for account in self.accounts(event.run, event.scope or ""):
                    account.spending.spend(kind, self.policy.weights)

    def _take_in(self, run: str, event: Event) -> None:
        for account in self.accounts(run, event.scope or ""):
            account.spending.take_in(event)

    # -- what is asked ---------------------------------------------------------------

    def answer(
        self, lane: Run, facts: RunFacts, kind: EffectKind, request: object, scope: str
    ) -> GateAnswer | None:
        """Let an effect happen, answer it, or halt the run; see the module's rules."""
        beyond = self._beyond(facts.id, kind, scope)
        worst = beyond[0] if beyond else None
        if worst is None:
            return None
        if self.policy.mode == "unsafe":
            for one in beyond:
                self._note(lane, one, kind, scope)
            return None
        self._state(lane, worst, kind, scope)
        if worst.action == "halt":
            return _halting(kind, worst)
        if worst.action == "degrade":
            return self._degraded(lane, worst, kind, request, scope)
        return None

    def _beyond(self, run: str, kind: EffectKind, scope: str) -> list[Exceeded]:
        """Return the limits that the effect goes beyond; spend it if it may happen."""
        with self._lock:
            if self.halted is not None:
                return [self.halted]
            accounts, seconds = self.accounts(run, scope), self.seconds
            found = [one for each in accounts for one in exceeded(each, kind, seconds)]
            found.sort(key=lambda one: _ORDER[one.action])
            goes_on = not found or found[0].action == "mark_non_certifiable"
            if goes_on or self.policy.mode == "unsafe":
                for account in accounts:
                    account.spending.spend(kind, self.policy.weights)
            elif found[0].action == "halt":
                self.halted = found[0]
            return found

    def _first(self, one: Exceeded, kind: EffectKind) -> bool:
        """Tell whether nothing was stated of this limit yet."""
        key = one.budget, one.limit, kind.name
        with self._lock:
            known = key in self._noted
            self._noted.add(key)
        return not known

    def _state(self, lane: Run, one: Exceeded, kind: EffectKind, scope: str) -> None:
        if not self._first(one, kind):
            return
        data = {"budget": one.budget, "limit": one.limit, "action": one.action}
        told = {"effect": kind.name, "scope": scope, "detail": one.detail}
        lane.record("budget.exhausted", {**data, **told})
        if one.action == MARK_ACTION:
            self._mark(lane, one)

    def _note(self, lane: Run, one: Exceeded, kind: EffectKind, scope: str) -> None:
        if self._first(one, kind):
            target = f"{kind.name} in {scope}" if scope else kind.name
            rule = f"budget/{one.limit}"
            detail = f"{one.budget}: {one.detail}"
            data = {"target": target, "rule": rule, "detail": detail}
            lane.record("violation.noted", data)

    def _mark(self, lane: Run, one: Exceeded) -> None:
        """Mark the run, and the one at the top."""
        reason = f"{one.budget}, {one.limit}: {one.detail}"
        lane.mark(MARK, reason)
        if lane.id != self.lane.id:
            self.lane.mark(MARK, f"in run {lane.id}, which it called: {reason}")

    def _degraded(
        self, lane: Run, one: Exceeded, kind: EffectKind, request: object, scope: str
    ) -> GateAnswer:
        told = (one.fallback, kind, request, self.functions, self.ledger)
        try:
            value = answer_of(*told)
        except NoCachedAnswer:
            detail = f"{one.detail}; no answer to such a request is cached"
            failed = Exceeded(one.budget, one.limit, detail, "halt")
            with self._lock:
                self.halted = self.halted or failed
            return _halting(kind, failed)
        data = {"effect": kind.name, "scope": scope, "fallback": one.fallback}
        lane.record(
            "effect.degraded", {**data, "budget": one.budget, "limit": one.limit}
        )
        return GateAnswer(value, {"fallback": spelt(one.fallback)})


def accounts_of(policy: GovernancePolicy, flow: FlowManifest | None) -> list[Account]:
    """Return the account of *policy*, then those of *flow* and of its steps."""
    weights = policy.weights
    found = [
        Account(
            "policy",
            policy.entropy_budget,
            policy.execution_budget,
            policy.intents or None,
            weights,
            policy.nondeterminism.allowed_variance_class,
        )
    ]
    if flow is None:
        return found
    variance, name = flow.allowed_variance_class, f"flow {flow.flow_id}"
    budgets = flow.entropy_budget, flow.execution_budget
    found.append(Account(name, *budgets, None, weights, variance))
    for agent in flow.agents:
        part = flow.parts.get(agent)
        own = () if part is None else part.intents
        entropy = None if part is None else part.entropy_budget
        declared = (*own, *flow.intents)
        step = Account(f"step {agent}", entropy, None, declared, weights, variance)
        step.agent = agent
        found.append(step)
    return found


MARK_ACTION = "mark_non_certifiable"
_ORDER = {"halt": 0, "degrade": 1, MARK_ACTION: 2}


def agent_of(scope: str) -> str:
    """Return the agent whose step *scope* is, or is below: ``step/0-agent``."""
    first, _, rest = scope.partition("/")
    return rest.partition("/")[0].partition("-")[2] if first == "step" else ""


def flow_of(params: Mapping[str, object], run: str) -> FlowManifest | None:
    """Return the manifest in the params of *run*, if that is a flow's."""
    if params.keys() != {"flow", "policy", "pins"}:
        return None
    manifest = cast("JsonValue", params["flow"])
    return FlowManifest.from_document(manifest, f"flow of run {run}")


def _params(ledger: OpenLedger, started: Event) -> Mapping[str, object]:
    ref = started.data.get("params")
    told = ledger.value(ref) if isinstance(ref, BlobRef) else None
    return cast("Mapping[str, object]", told) if isinstance(told, dict) else {}


def _halting(kind: EffectKind, one: Exceeded) -> GateAnswer:
    told = f"{one.budget}, {one.limit}: {one.detail}"
    data: JsonValue = {"budget": one.budget, "limit": one.limit}
    return GateAnswer(
        error=EffectFailed(kind.name, one.error_type, told, data), halts=True
    )


def _unknown(name: str) -> EffectKind:
    """Return what is assumed of a kind that nothing declares."""
    return EffectKind(name, "external_oracle", "high")
