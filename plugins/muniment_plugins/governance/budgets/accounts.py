"""The accounts of a run and of the runs that it calls, and what each has spent.

    policy           every effect
    flow triage      the effects of a run of that flow, and of the runs that it calls
    step agent-a     the effects of that agent's steps

Rules:

- An effect is charged to the policy, to each flow that it is part of, and to its step.
- What was spent is a fold over events: a governor folds what it writes, and whoever reads
  a record folds it the same way. Nothing else is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from muniment import EffectKind, Event
from muniment.encoding.canonical import JsonValue
from muniment.formats.statement import BlobRef
from muniment.hookspecs import OpenLedger
from muniment_plugins.governance.budgets.limits import Account
from muniment_plugins.governance.budgets.spending import is_another, performed
from muniment_plugins.governance.documents.manifest import FlowManifest
from muniment_plugins.governance.documents.policy import GovernancePolicy

__all__ = ["RunAccounts", "accounts_of", "agent_of", "flow_of"]


@dataclass(slots=True)
class RunAccounts:
    """What a policy, flows and their steps allow, and what was spent of it."""

    policy: GovernancePolicy
    kinds: Mapping[str, EffectKind]
    """As they were declared when the run began."""
    own: Account = field(init=False)
    """That of the policy."""
    _of_runs: dict[str, list[Account]] = field(default_factory=dict[str, list[Account]])
    """Run → its flow's account, then those of its steps."""
    _above: dict[str, str | None] = field(default_factory=dict[str, str | None])
    _beside: set[str] = field(default_factory=set[str])
    """Runs whose effects, and those of the runs they called, the policy's account lacks."""

    def __post_init__(self) -> None:
        self.own, *_ = accounts_of(self.policy, None)

    def __iter__(self) -> Iterator[Account]:
        """Yield every account, the policy's first."""
        yield self.own
        for accounts in self._of_runs.values():
            yield from accounts

    def enter(
        self, run: str, parent: str | None, flow: FlowManifest | None = None
    ) -> None:
        """Take in a *run*, which *parent* called, with the flow that it is."""
        self._above[run] = parent
        if flow is not None and run not in self._of_runs:
            _, *self._of_runs[run] = accounts_of(self.policy, flow)

    def follow(self, origin: str, run: str, *, counted: bool) -> None:
        """Take in the *origin* of a fork, *run*: what was spent there, its flow has spent.

        *counted* says whether the policy's account has it already, or gets it otherwise.
        """
        self._above[origin] = run
        if counted:
            self._beside.add(origin)

    def charged(self, run: str, scope: str) -> list[Account]:
        """Return the accounts that an effect in *scope* of *run* is charged to."""
        found = [self.own]
        at: str | None = run
        while at is not None:
            if at in self._beside:
                found = found[1:]
            mine = self._of_runs.get(at, [])
            found += mine[:1]
            if at == run and mine:
                agent = agent_of(scope)
                found += [one for one in mine[1:] if one.agent == agent]
            at = self._above.get(at)
        return found

    @property
    def runs(self) -> tuple[str, ...]:
        """The runs that were taken in, in their order."""
        return tuple(self._above)

    def charging(self, account: Account) -> list[str]:
        """Return the runs whose effects are charged to the *account* of a policy or flow."""
        return [
            run
            for run in self._above
            if any(one is account for one in self._whole(run))
        ]

    def _whole(self, run: str) -> Iterator[Account]:
        """Yield the accounts that all of *run* is charged to."""
        yield self.own
        at: str | None = run
        while at is not None:
            yield from self._of_runs.get(at, [])[:1]
            at = self._above.get(at)

    # -- what was recorded -----------------------------------------------------------

    def spend(self, run: str, scope: str, name: str) -> None:
        """Charge an effect of the kind *name*, which was performed, or is about to be."""
        kind = self.kinds.get(name) or _unknown(name)
        for account in self.charged(run, scope):
            account.spending.spend(kind, self.policy.weights)

    def recall(
        self,
        run: str,
        events: Iterable[Event],
        ledger: OpenLedger,
        until: int | None = None,
    ) -> None:
        """Count what the record of *run* says was spent, and by the runs it called.

        *until* is the last event that counts, if that is not the end.
        """
        told = [one for one in events if until is None or one.seq <= until]
        for asked, name in performed(told):
            self.spend(run, asked.scope or "", name)
        for event in told:
            self._take_in(run, event)
        for child in ledger.children(run):
            recorded = list(ledger.events(run=child))
            if until is None or recorded[0].seq <= until:
                self.enter(child, run, flow_of(_params(ledger, recorded[0]), child))
                self.recall(child, recorded, ledger, until)

    def observe(self, run: str, event: Event, ledger: OpenLedger) -> None:
        """Count what *event* of *run*, which was just written, says was spent.

        An effect itself was spent before it was performed.
        """
        parent = event.raw.get("parent")
        if event.type == "run.started" and isinstance(parent, dict):
            self.enter(run, str(parent["run"]), flow_of(_params(ledger, event), run))
        self._take_in(run, event)
        stem, _, verb = event.type.rpartition(".")
        if verb == "attempted" and stem in self.kinds and is_another(event):
            self.spend(run, event.scope or "", stem)

    def _take_in(self, run: str, event: Event) -> None:
        for account in self.charged(run, event.scope or ""):
            account.spending.take_in(event)


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


def agent_of(scope: str) -> str:
    """Return the agent whose step *scope* is, or is below: ``step/0-agent``."""
    first, _, rest = scope.partition("/")
    return rest.partition("/")[0].partition("-")[2] if first == "step" else ""


def flow_of(params: Mapping[str, object], run: str) -> FlowManifest | None:
    """Return the manifest in the params of *run*, if that is a flow's."""
    if {*params} != {"flow", "policy", "pins"}:
        return None
    manifest = cast("JsonValue", params["flow"])
    return FlowManifest.from_record(manifest, f"flow of run {run}")


def _params(ledger: OpenLedger, started: Event) -> Mapping[str, object]:
    ref = started.data.get("params")
    told = ledger.value(ref) if isinstance(ref, BlobRef) else None
    return cast("Mapping[str, object]", told) if isinstance(told, dict) else {}


def _unknown(name: str) -> EffectKind:
    """Return what is assumed of a kind that nothing declares."""
    return EffectKind(name, "external_oracle", "high")
