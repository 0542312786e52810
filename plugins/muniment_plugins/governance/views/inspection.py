"""Everything that governance knows of a run, in one document: its record, and its causes.

    inspected(ledger, run)["determinism_profile"]["confidence_decay"]    0.5
    inspected(ledger, run)["events"][3]    {"event_index": 3, "causality_tag": "agent", …}

Rules:

- Nothing is kept: record, profile, usage and tags follow from the events, the declared
  documents from what the run adopted.
- An event is named by its number in the ledger and by its place in the run; its hash is
  that of its leaf, so that each row can be proven.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from muniment import EffectKind, Event
from muniment.encoding.canonical import JsonValue
from muniment.formats.lifecycle import UNFINISHED
from muniment_plugins.governance.budgets.adopted import governing_of
from muniment_plugins.governance.budgets.spending import UNCOUNTED, performed
from muniment_plugins.governance.budgets.table import BudgetTable, budget_table
from muniment_plugins.governance.documents.words import Level
from muniment_plugins.governance.judgement.application import terms_of
from muniment_plugins.governance.views.profile import (
    DeterminismProfile,
    causality,
    profile_of,
)
from muniment_plugins.governance.views.record import GovernedRecords, step_of

if TYPE_CHECKING:
    from muniment.ledger import Ledger
    from muniment_plugins.governance.governed import Governing

__all__ = ["Inspection", "inspected"]

Row = dict[str, JsonValue]


class Inspection:
    """What is known of one run; read once."""

    def __init__(self, ledger: Ledger, run: str) -> None:
        self.ledger = ledger
        self.record: Row = ledger.project(GovernedRecords, run=run)
        self.run = cast("str", self.record["run_id"])
        self.events: Sequence[Event] = tuple(ledger.events(run=self.run))
        self.table: BudgetTable | None = budget_table(ledger, self.run)
        self.terms = terms_of(ledger, self.run)
        self.documents: Governing | None = None
        if self.table is not None:
            _, self.documents = governing_of(ledger, self.table.run)

    @property
    def kinds(self) -> Mapping[str, EffectKind]:
        """The effect kinds, as the run adopted them, else as they are declared here."""
        return (
            self.ledger.effect_kinds
            if self.table is None
            else self.table.accounts.kinds
        )

    @property
    def level(self) -> Level:
        """The level of determinism that flow or policy declare."""
        own = cast("Level | None", self.record["determinism_level"])
        policy = None if self.documents is None else self.documents.policy
        declared = None if policy is None else policy.determinism_level
        return own or declared or "unconstrained"

    @property
    def profile(self) -> DeterminismProfile:
        """Where the uncertainty of the run came from."""
        accepted = "exact_match" if self.terms is None else self.terms.acceptability
        slices = {str(one["source"]): one for one in self._slices()}
        return profile_of(self.events, self.kinds, self.level, accepted, slices)

    def causes(self) -> dict[int, str]:
        """Return event → its causality tag."""
        return {one.seq: causality(one.type, self.kinds) for one in self.events}

    def _slices(self) -> Iterator[Row]:
        """Yield what the budgets say of each source, the policy's last."""
        for _, document in reversed([*self._budgets()]):
            allowed = cast("list[str]", document.get("allowed_sources") or [])
            own = {
                str(one["source"]): one
                for one in cast("list[Row]", document.get("per_source") or [])
            }
            whole = {name: one for name, one in document.items() if name in _OF_SLICE}
            for source in allowed:
                yield {**whole, **own.get(source, {}), "source": source}

    def _budgets(self) -> Iterator[tuple[str, Row]]:
        """Yield the entropy budgets as they are written, by whose they are."""
        if self.documents is None:
            return
        policy, flow = self.documents.policy, self.documents.flow
        for name, one in (("policy", policy), ("flow", flow)):
            document = None if one is None else one.document.get("entropy_budget")
            if isinstance(document, dict):
                yield name, document

    def usage(self) -> list[JsonValue]:
        """Return each effect that was performed, with what it spent of the budgets."""
        rows: list[JsonValue] = []
        for asked, name in performed(self.events):
            if name in UNCOUNTED:
                continue
            kind = self.kinds.get(name) or EffectKind(name, "external_oracle", "high")
            rows.append(
                {
                    "event": asked.seq,
                    "step_index": step_of(asked.scope),
                    "effect": name,
                    "source": kind.source,
                    "magnitude": kind.magnitude,
                }
            )
        return rows

    def to_json(self) -> Row:
        """Return all of it, in the words that people have for it."""
        record, flow = self.record, None
        if self.documents is not None:
            flow = self.documents.flow
        summary = _summary(self.ledger, self.run)
        moved = ("parent", "root", "replay_of", "fork_of")
        return {
            **{name: one for name, one in record.items() if name not in moved},
            **summary,
            "run_mode": self._mode(),
            "determinism_level": self.level,
            **self._terms(),
            "allowed_variance_class": None
            if flow is None
            else flow.allowed_variance_class,
            "nondeterminism_intent": self._intents(),
            "entropy_budget": dict(self._budgets()),
            "entropy_usage": self.usage(),
            "entropy_exhausted": bool(record["exhausted_budgets"]),
            "budget": None if self.table is None else self.table.to_json(),
            "determinism_profile": self.profile.to_json(),
            "events": self._events(),
            "correlation": {
                **{name: record[name] for name in moved},
                "children": [*self.ledger.children(self.run)],
            },
        }

    def _mode(self) -> str:
        if self.record["replay_of"] is not None:
            return "replay"
        program = self.events[0].raw.get("program")
        name = program.get("name") if isinstance(program, dict) else None
        if name in ("muniment:observation/1", "muniment:observation/2"):
            return "observe"
        return "live" if self.table is None else self.table.mode

    def _terms(self) -> Row:
        terms = self.terms
        if terms is None:
            return dict.fromkeys(
                ("replay_mode", "replay_acceptability", "replay_envelope")
            )
        return {
            "replay_mode": terms.mode,
            "replay_acceptability": terms.acceptability,
            "replay_envelope": {
                "min_claim_overlap": terms.min_claim_overlap,
                "max_contradiction_delta": terms.max_contradiction_delta,
                "metric_tolerances": dict(terms.metric_tolerances),
            },
        }

    def _intents(self) -> list[JsonValue]:
        if self.documents is None:
            return []
        found = [*self.documents.policy.intents]
        found += [] if self.documents.flow is None else self.documents.flow.intents
        return [
            {
                "source": one.source,
                "min_entropy_magnitude": one.min_entropy_magnitude,
                "max_entropy_magnitude": one.max_entropy_magnitude,
                "justification": one.justification,
            }
            for one in found
        ]

    def _events(self) -> list[JsonValue]:
        causes = self.causes()
        return [
            {
                "event_index": index,
                "seq": one.seq,
                "step_index": step_of(one.scope),
                "event_type": one.type,
                "causality_tag": causes[one.seq],
                "timestamp_utc": one.time,
                "hash": one.hash,
            }
            for index, one in enumerate(self.events)
        ]


_OF_SLICE = frozenset(
    {"min_magnitude", "max_magnitude", "max_count", "max_weight", "exhaustion_action"}
)
"""What a budget says of every source, unless a slice says otherwise."""


def _summary(ledger: Ledger, run: str) -> Row:
    """Return how far the run is."""
    (record,) = ledger.runs(run=run, limit=1)
    return {
        "status": record.status,
        "finalized": record.status not in UNFINISHED,
        "started": record.started,
        "ended": record.ended,
    }


def inspected(ledger: Ledger, run: str) -> Row:
    """Return the document about *run*, a run's id or a prefix of it.

    Raises:
        UsageError: there is no such run.
        ErasedError: the documents that it adopted were erased.

    """
    return Inspection(ledger, ledger.run_id(run)).to_json()
