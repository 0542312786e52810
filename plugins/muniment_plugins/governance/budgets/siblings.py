"""What the other runs of one command have spent, which share its policy's budgets.

    policy.adopted   {"digest": "sha256:…", "group": "1204-01JD…", …}

Rules:

- Runs are of one group if they adopted their policy as such. What each has spent is a fold
  over its record: so it does not matter in which process it is, or was.
- A request is durable before anybody asks whether it may happen. Of two runs that ask at
  once, the one whose request is later counts the other's as spent.
- What has ended is folded once, until it is resumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from muniment import EffectKind, Event
from muniment.formats.lifecycle import BEGINNINGS, COMPLETED, FAILED, RESUMED
from muniment.hookspecs import OpenLedger
from muniment.runs.owner import owner
from muniment_plugins.governance.budgets.accounts import RunAccounts
from muniment_plugins.governance.budgets.spending import Spending
from muniment_plugins.governance.documents.policy import GovernancePolicy
from muniment_plugins.governance.governed import LABEL, PLUGIN

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["Siblings", "siblings_of", "ungoverned"]

_ADOPTED, _LANE = "policy.adopted", f"plugin/{PLUGIN}"
_ENDED: dict[tuple[str, str], dict[str, Spending]] = {}
"""Ledger and group → run → what it had spent when it ended."""


def siblings_of(
    ledger: OpenLedger, group: str | None, run: str, since: int = 0
) -> Iterator[str]:
    """Yield the runs of the *group*, except for *run*, that adopted its policy *since*."""
    if group is None:
        return
    first = max(since, int(group.partition("-")[0]))
    whole = cast("Ledger", ledger)  # hooks get the open ledger itself
    for event in whole.events(type=_ADOPTED, from_seq=first):
        ours = event.scope == _LANE and event.raw.get("group") == group
        if ours and event.run not in (None, run) and _is_labelled(ledger, event):
            yield str(event.run)


def _is_labelled(ledger: OpenLedger, adopted: Event) -> bool:
    """Tell whether the run was started under the policy, and did not only say so."""
    (started,) = ledger.events(run=adopted.run, limit=1)
    labels, labelled = started.raw.get("labels"), started.raw.get("labelled")
    return (
        isinstance(labels, dict)
        and LABEL in labels
        and isinstance(labelled, dict)
        and labelled.get(LABEL) == PLUGIN
    )


def ungoverned(ledger: OpenLedger, run: str) -> Iterator[str]:
    """Yield runs that this process started since *run* began here, without a policy.

    Only a ledger that was opened without the plugin starts such a run.
    """
    whole, here = cast("Ledger", ledger), owner()
    began = [one.seq for one in ledger.events(run=run) if one.type in BEGINNINGS][-1]
    for one in whole.runs(from_seq=began):
        (event,) = ledger.events(run=one.id, limit=1)
        by, labels = event.raw.get("owner"), event.raw.get("labels")
        ours = isinstance(by, dict) and all(
            by.get(name) == here[name] for name in ("pid", "host")
        )
        held = isinstance(labels, dict) and LABEL in labels
        if ours and not held and event.raw.get("replay_of") is None:
            yield str(event.run)


@dataclass(slots=True)
class Siblings:
    """The other runs of a group, as a run sees them that goes on."""

    run: str
    group: str | None
    policy: GovernancePolicy
    kinds: Mapping[str, EffectKind]
    ledger: OpenLedger
    _known: set[str] = field(default_factory=set[str])
    _seen: int = 0
    """Up to which event runs of the group were looked for."""

    def spending(self, kind: str, asking: str | None) -> Spending:
        """Return what they have spent before the last request of *kind* in *asking*."""
        if self.group is None:
            return Spending()
        self._look()
        ended = _ENDED.setdefault((self.ledger.id, self.group), {})
        until = None
        if asking is not None and self._known - ended.keys():
            until = self._asked(asking, kind)
        found = Spending()
        for run in sorted(self._known):
            found += ended[run] if run in ended else self._fold(run, until, ended)
        return found

    def _look(self) -> None:
        whole = cast("Ledger", self.ledger)
        size = whole.head.size
        if size == self._seen:
            return
        group = str(self.group)
        self._known |= {*siblings_of(self.ledger, group, self.run, self._seen)}
        ended = _ENDED.get((self.ledger.id, group), {})
        first = max(self._seen, int(group.partition("-")[0]))
        for event in whole.events(type=RESUMED, from_seq=first) if ended else ():
            ended.pop(str(event.run), None)
        self._seen = size

    def _asked(self, run: str, kind: str) -> int | None:
        last = self.ledger.events(
            run=run, type=f"{kind}.requested", limit=1, order="desc"
        )
        return next((one.seq for one in last), None)

    def _fold(
        self, run: str, until: int | None, ended: dict[str, Spending]
    ) -> Spending:
        accounts = RunAccounts(self.policy, self.kinds)
        events = list(self.ledger.events(run=run))
        accounts.recall(run, events, self.ledger, until)
        spent = accounts.own.spending
        if events[-1].type in (COMPLETED, FAILED) and until is None:
            ended[run] = spent
        return spent
