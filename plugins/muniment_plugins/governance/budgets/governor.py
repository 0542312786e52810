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
from dataclasses import dataclass, field, replace
from typing import cast

from muniment import EffectFailed, EffectKind, Event, GateAnswer, Run, RunFacts
from muniment.encoding.canonical import JsonValue
from muniment.formats.lifecycle import MARKED
from muniment.hookspecs import OpenLedger
from muniment_plugins.governance.budgets.accounts import RunAccounts, flow_of
from muniment_plugins.governance.budgets.fallbacks import (
    ANSWERING,
    NO_EFFECT,
    NoCachedAnswer,
    answer_of,
)
from muniment_plugins.governance.budgets.limits import (
    OVERSPENT,
    Account,
    Exceeded,
    exceeded,
    overspent,
)
from muniment_plugins.governance.budgets.siblings import Siblings, ungoverned
from muniment_plugins.governance.budgets.spending import seconds_of, was_performed
from muniment_plugins.governance.documents.budgets import spelt
from muniment_plugins.governance.documents.manifest import FlowManifest
from muniment_plugins.governance.documents.policy import GovernancePolicy
from muniment_plugins.governance.flows.raised import EFFECTS, answer_about
from muniment_plugins.governance.governed import LABEL, MEMORY

__all__ = ["MARK", "Governor", "flow_of", "governor_of", "is_labelled"]

MARK = "non_certifiable"


def governor_of(facts: RunFacts | None) -> Governor | None:
    """Return the governor of a run, if it is governed and runs in this process."""
    found = None if facts is None else facts.memory.get(MEMORY)
    return found if isinstance(found, Governor) else None


def is_labelled(facts: RunFacts) -> bool:
    """Tell whether a run is held to a policy, whoever looks after that."""
    return facts.labels.get(LABEL, "").startswith("sha256:")


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
    group: str | None = None
    """The runs that share the policy's budgets; see `Siblings`."""
    halted: Exceeded | None = None
    before: float = 0.0
    """Seconds that the run was under way in earlier processes."""
    _began: float = field(default_factory=time.monotonic)
    _noted: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])
    _marked_below: set[str] = field(default_factory=set[str])
    """Runs whose effects overspent a limit."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    accounts: RunAccounts = field(init=False)
    _others: Siblings = field(init=False)

    def __post_init__(self) -> None:
        self.accounts = RunAccounts(self.policy, self.kinds)
        told = self.lane.id, self.group, self.policy, self.kinds, self.ledger
        self._others = Siblings(*told)

    def _shared(self, account: Account, kind: str, asking: str | None) -> Account:
        """Return *account* with what other runs have spent of it, if they share it."""
        if account is not self.accounts.own or self.group is None:
            return account
        others = self._others.spending(kind, asking)
        return replace(account, spending=account.spending + others)

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
        """Count the time that the run has taken so far, and what it said of its limits.

        An amendment begins anew.
        """
        told = list(events)
        self.before = seconds_of(told)
        for event in told:
            raw = event.raw
            if event.type == "policy.adopted":
                self._noted.clear()
            elif event.type == "budget.exhausted" and raw.get("action") != "halt":
                effect = "" if raw["action"] == OVERSPENT else f" {raw['effect']}"
                named = str(raw["budget"]), str(raw["limit"])
                self._noted.add((*named, f"{raw['action']}{effect}"))

    def observe(self, event: Event) -> None:
        """Count what *event*, which was just written, says was spent."""
        if event.run is None:
            return
        with self._lock:
            self.accounts.observe(event.run, event, self.ledger)
        name, _, verb = event.type.rpartition(".")
        if verb in ("completed", "failed") and name in self.kinds:
            if was_performed(event):
                self._overspent(event.run, name, event.scope or "")
        elif event.type == BYPASSED:
            self._mark(self.lane, _BYPASS)

    def _overspent(
        self, run: str, what: str, scope: str, *, ends: bool = False
    ) -> None:
        """State the limits that are overspent, and mark the run unless it degrades."""
        with self._lock:
            seconds, more = self.seconds, int(ends and self.halted is None)
            found = [
                one
                for each in self.accounts
                for one in overspent(self._shared(each, what, None), seconds, more)
                if (ends and self.halted is None) or one.limit != "trace_event_limit"
            ]
            known = {key[:2] for key in self._noted}
            found = [one for one in found if (one.budget, one.limit) not in known]
            self._noted |= {(one.budget, one.limit, OVERSPENT) for one in found}
            if any(one.then != "degrade" for one in found):
                self._marked_below.add(run)
        for one in found:
            data = _exhausted(one, what, scope)
            self.lane.record("budget.exhausted", data)
            if one.then != "degrade" and self.policy.mode != "unsafe":
                self.lane.mark(MARK, f"{one.budget}, {one.limit}: {one.detail}")

    def end(self, lane: Run, facts: RunFacts) -> None:
        """State what the run has overspent, and mark it if one that it called is marked."""
        self._overspent(facts.id, "run", "", ends=True)
        if self._is_marked(facts.id):
            return
        for child in self.ledger.children(facts.id):
            if self._is_marked(child):
                lane.mark(MARK, f"run {child}, which it called, is marked")
                return
        for run in ungoverned(self.ledger, facts.id):
            lane.mark(MARK, f"run {run} started here meanwhile, without the policy")
            return
        if facts.id in self._marked_below and facts.id != self.lane.id:
            lane.mark(MARK, "its effects overspent a limit of the policy")

    def _is_marked(self, run: str) -> bool:
        marks = self.ledger.events(run=run, type=MARKED)
        return any(one.raw.get("mark") == MARK for one in marks)

    def lose_count(self) -> None:
        """Let nothing more happen, since what was recorded could not be counted."""
        with self._lock:
            self.halted = self.halted or _UNCOUNTABLE

    # -- what is asked ---------------------------------------------------------------

    def answer(
        self, lane: Run, facts: RunFacts, kind: EffectKind, request: object, scope: str
    ) -> GateAnswer | str | None:
        """Let an effect happen, answer it, or halt the run; see the module's rules."""
        if ANSWERING.get() or kind.name == "amendment":
            asked = cast("Mapping[str, object]", request)
            return NO_EFFECT if ANSWERING.get() else self._raised(asked)
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

    def _raised(self, asked: Mapping[str, object]) -> GateAnswer:
        """Say whether people have raised the limit that a flow has reached."""
        budget, limit = str(asked["budget"]), str(asked["limit"])
        used = cast("int", asked["used"])
        said = answer_about(budget, limit, used, self.limit_of(budget, limit))
        if said.halts:
            halted = Exceeded(budget, limit, f"{used} of {used}", "halt")
            with self._lock:
                self.halted = self.halted or halted
                self._noted.add((budget, limit, f"halt {EFFECTS.get(limit)}"))
        return said

    def _beyond(self, run: str, kind: EffectKind, scope: str) -> list[Exceeded]:
        """Return the limits that the effect goes beyond; spend it if it may happen."""
        with self._lock:
            if self.halted is not None:
                return [self.halted]
            accounts, seconds = self.accounts.charged(run, scope), self.seconds
            found = [
                one
                for each in accounts
                for one in exceeded(self._shared(each, kind.name, run), kind, seconds)
            ]
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
        lane.record("budget.exhausted", _exhausted(one, kind.name, scope))
        return True

    def _halt(self, lane: Run, one: Exceeded, kind: EffectKind, scope: str) -> None:
        """State that the run was halted, and so in the one at the top, which resumes it."""
        if self._state(lane, one, kind, scope) and lane.id != self.lane.id:
            self.lane.record("budget.exhausted", _exhausted(one, kind.name, scope))

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
            private = lane.is_kept_private(scope)
            value, origin = answer_of(*told, private=private)
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
_UNCOUNTABLE = Exceeded(
    "policy", "recording", "what an event says was spent could not be counted", "halt"
)
MARK_ACTION = "mark_non_certifiable"
_ORDER = {"halt": 0, "degrade": 1, MARK_ACTION: 2}


def _exhausted(one: Exceeded, what: str, scope: str) -> dict[str, object]:
    return {
        "budget": one.budget,
        "limit": one.limit,
        "action": one.action,
        "effect": what,
        "scope": scope,
        "detail": one.detail,
    }


def _halting(kind: EffectKind, one: Exceeded) -> GateAnswer:
    told = f"{one.budget}, {one.limit}: {one.detail}"
    data: JsonValue = {"budget": one.budget, "limit": one.limit}
    return GateAnswer(
        error=EffectFailed(kind.name, one.error_type, told, data), halts=True
    )
