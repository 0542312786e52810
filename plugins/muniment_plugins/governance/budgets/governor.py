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
from muniment.hookspecs import OpenLedger
from muniment_plugins.governance.budgets.accounts import RunAccounts, flow_of
from muniment_plugins.governance.budgets.fallbacks import (
    NoCachedAnswer,
    answer_of,
    spelt,
)
from muniment_plugins.governance.budgets.limits import (
    Exceeded,
    exceeded,
    overspent,
)
from muniment_plugins.governance.budgets.spending import seconds_of
from muniment_plugins.governance.documents.manifest import FlowManifest
from muniment_plugins.governance.documents.policy import GovernancePolicy
from muniment_plugins.governance.governed import MEMORY

__all__ = ["MARK", "Governor", "flow_of", "governor_of"]

MARK = "non_certifiable"


def governor_of(facts: RunFacts | None) -> Governor | None:
    """Return the governor of a run, if it is governed and runs in this process."""
    found = None if facts is None else facts.memory.get(MEMORY)
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
    _noted: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])
    _lock: threading.Lock = field(default_factory=threading.Lock)
    accounts: RunAccounts = field(init=False)

    def __post_init__(self) -> None:
        self.accounts = RunAccounts(self.policy, self.kinds)

    def limit_of(self, account: str, name: str) -> int | None:
        """Return the limit *name* of an *account*, as it is now, amendments included."""
        for one in self.accounts:
            if one.name == account and one.execution is not None:
                return cast("int | None", getattr(one.execution, name))
        return None

    def keep(self, facts: RunFacts) -> None:
        """Be found as the governor of the run with these facts, and of its children."""
        facts.memory[MEMORY] = self

    @property
    def seconds(self) -> float:
        """How long the run has been under way."""
        return self.before + time.monotonic() - self._began

    def enter(
        self, run: str, parent: str | None, flow: FlowManifest | None = None
    ) -> None:
        """Take in a *run*, which *parent* called, with the flow that it is."""
        self.accounts.enter(run, parent, flow)

    # -- what was recorded -----------------------------------------------------------

    def recall(
        self, run: str, events: Iterable[Event], until: int | None = None
    ) -> None:
        """Count what the record of *run* says was spent, and by the runs it called."""
        self.accounts.recall(run, events, self.ledger, until)

    def resumed(self, events: Iterable[Event]) -> None:
        """Count the time that the run has taken so far."""
        self.before = seconds_of(events)

    def observe(self, event: Event) -> None:
        """Count what *event*, which was just written, says was spent."""
        if event.run is None:
            return
        with self._lock:
            self.accounts.observe(event.run, event, self.ledger)
            told = [one for each in self.accounts for one in overspent(each)]
        kind = self.kinds.get(event.type.removesuffix(".completed"))
        if kind is not None:
            for one in told:
                self._state(self.lane, one, kind, event.scope or "")
        elif event.type == BYPASSED:
            self._mark(self.lane, _BYPASS)

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
        if worst.action == "halt":
            self._halt(lane, worst, kind, scope)
            return _halting(kind, worst)
        if worst.action == "degrade":
            self._state(lane, worst, kind, scope)
            return self._degraded(lane, worst, kind, request, scope, facts.tenant)
        for one in beyond:
            if self._state(lane, one, kind, scope):
                self._mark(lane, one)
        return None

    def _beyond(self, run: str, kind: EffectKind, scope: str) -> list[Exceeded]:
        """Return the limits that the effect goes beyond; spend it if it may happen."""
        with self._lock:
            if self.halted is not None:
                return [self.halted]
            accounts, seconds = self.accounts.charged(run, scope), self.seconds
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
        key = one.budget, one.limit, f"{one.action} {kind.name}"
        with self._lock:
            known = key in self._noted
            self._noted.add(key)
        return not known

    def _state(self, lane: Run, one: Exceeded, kind: EffectKind, scope: str) -> bool:
        """State that a limit was reached; tell whether that is new."""
        if not self._first(one, kind):
            return False
        lane.record("budget.exhausted", _exhausted(one, kind, scope))
        return True

    def _halt(self, lane: Run, one: Exceeded, kind: EffectKind, scope: str) -> None:
        """State that the run was halted, and so in the one at the top, which resumes it."""
        if self._state(lane, one, kind, scope) and lane.id != self.lane.id:
            self.lane.record("budget.exhausted", _exhausted(one, kind, scope))

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
        self,
        lane: Run,
        one: Exceeded,
        kind: EffectKind,
        request: object,
        scope: str,
        tenant: str,
    ) -> GateAnswer:
        told = (one.fallback, kind, request, self.functions, self.ledger, tenant)
        try:
            value, origin = answer_of(*told)
        except NoCachedAnswer:
            detail = f"{one.detail}; no answer to such a request is cached"
            failed = Exceeded(one.budget, one.limit, detail, "halt")
            with self._lock:
                self.halted = self.halted or failed
            self._halt(lane, failed, kind, scope)
            return _halting(kind, failed)
        data = {"effect": kind.name, "scope": scope, "fallback": one.fallback}
        limit = {"budget": one.budget, "limit": one.limit, "origin": origin}
        lane.record("effect.degraded", {**data, **limit})
        return GateAnswer(value, {"fallback": spelt(one.fallback)})


BYPASSED = "recording.bypassed"
_BYPASS = Exceeded(
    "policy",
    "recording",
    "calls went past the recorder, and no budget counts them",
    "halt",
)
MARK_ACTION = "mark_non_certifiable"
_ORDER = {"halt": 0, "degrade": 1, MARK_ACTION: 2}


def _exhausted(one: Exceeded, kind: EffectKind, scope: str) -> dict[str, object]:
    return {
        "budget": one.budget,
        "limit": one.limit,
        "action": one.action,
        "effect": kind.name,
        "scope": scope,
        "detail": one.detail,
    }


def _halting(kind: EffectKind, one: Exceeded) -> GateAnswer:
    told = f"{one.budget}, {one.limit}: {one.detail}"
    data: JsonValue = {"budget": one.budget, "limit": one.limit}
    return GateAnswer(
        error=EffectFailed(kind.name, one.error_type, told, data), halts=True
    )
