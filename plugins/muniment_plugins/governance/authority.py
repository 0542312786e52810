"""Whose word a fact is: governance's own, or that of a program which says the same.

    scope "plugin/governance", in a run that this plugin labelled     governance's
    scope "" or "step/0-agent", in the run of a flow                  governance's
    policy.adopted whose digest is not that of the run's label        the program's
    anything else                                                     the program's

Rules:

- Any program may state any fact in a scope of its own: that a policy was adopted, or that
  people decided. So what is shown as governance's word is looked at by this module alone,
  whatever shows it: records, reports, explanations, tables, lists.
- A flow is a program of this plugin, and states steps and verdicts in its own scopes. Its
  agents get lanes in which those facts are refused (`flows.steps.function_lanes`).
- That people decided is believed where the record has what they answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from muniment import Event
from muniment.encoding.canonical import JsonValue

__all__ = ["OWN_TYPES", "Authority", "Speaker", "own_facts"]

Speaker: TypeAlias = Literal["kernel", "governance", "program"]

OWN_TYPES = frozenset(
    {
        *("policy.adopted", "policy.amended", "budget.exhausted", "effect.degraded"),
        *("flow.planned", "environment.fingerprinted", "dataset.pinned"),
        *("dataset.checked", "flow.step.started", "flow.step.completed"),
        *("flow.step.skipped", "artifact.produced", "evidence.collected"),
        *("reasoning.recorded", "verification.judged", "verification.arbitrated"),
        "violation.noted",
    }
)
"""The types of the facts that governance states."""

_LABEL, _LANE = "policy", "plugin/governance"
_STEP = re.compile(r"step/\d+-[^/]+")
_FLOWS = ("muniment:flow/1", "muniment:async-flow/1")
_OF_PROGRAMS = {
    **dict.fromkeys(
        ("muniment:observation/1", "muniment:observation/2"),
        frozenset(
            {"verification.judged", "verification.arbitrated", "violation.noted"}
        ),
    ),
    "muniment:amendment/1": frozenset({"policy.amended"}),
}
"""What other programs of this plugin state, in the scope of their run."""
_OUTCOMES = {"pass": "approved", "fail": "denied"}


@dataclass(slots=True)
class Authority:
    """Tells whose word each event is, of one run after another, in their order."""

    label: str | None = None
    """The digest of the policy that the start of the run names."""
    program: str | None = None
    """The stable name of its program."""
    decided: dict[str, str] = field(default_factory=dict[str, str])
    """Scope → the outcome of the last decision of people in it."""

    def speaker(self, event: Event) -> Speaker:
        """Return whose word *event* is, the next one of the run."""
        if event.type == "run.started":
            self._begin(event)
        elif event.type == "decision.reached":
            self.decided[event.scope or ""] = str(event.raw.get("outcome"))
        if event.type not in OWN_TYPES:
            return "kernel"
        return "governance" if self._is_own(event) else "program"

    def _begin(self, started: Event) -> None:
        labels, program = started.raw.get("labels"), started.raw.get("program")
        label = labels.get(_LABEL) if isinstance(labels, dict) else None
        governed = isinstance(label, str) and label.startswith("sha256:")
        self.label = str(label) if governed else None
        named = program.get("name") if isinstance(program, dict) else None
        self.program = named if isinstance(named, str) else None
        self.decided = {}

    def _is_own(self, event: Event) -> bool:
        scope = event.scope or ""
        if event.type == "policy.adopted":
            amended = event.raw.get("amendment") is not None
            ours = amended or event.raw.get("digest") == self.label
            return scope == _LANE and self.label is not None and ours
        if not scope and event.type in _OF_PROGRAMS.get(self.program or "", ()):
            return True
        if self.label is None or not self._stands_where_it_may(scope):
            return False
        if event.raw.get("decided_by", "engines") != "people":
            return True
        wanted = _OUTCOMES.get(str(event.raw.get("status")))
        return self.decided.get(scope) == wanted is not None

    def _stands_where_it_may(self, scope: str) -> bool:
        if scope == _LANE:
            return True
        flow = self.program in _FLOWS
        return flow and (not scope or _STEP.fullmatch(scope) is not None)

    # -- remembered in a fold ----------------------------------------------------------

    def to_json(self) -> JsonValue:
        """Return what is known, as plain JSON."""
        return {
            "label": self.label,
            "program": self.program,
            "decided": dict[str, JsonValue](self.decided),
        }

    @classmethod
    def from_json(cls, known: JsonValue) -> Authority:
        """Return what knows the same."""
        told = known if isinstance(known, dict) else {}
        label, program = told.get("label"), told.get("program")
        decided = told.get("decided")
        return cls(
            label if isinstance(label, str) else None,
            program if isinstance(program, str) else None,
            {one: str(outcome) for one, outcome in decided.items()}
            if isinstance(decided, dict)
            else {},
        )


def own_facts(events: Iterable[Event]) -> Iterator[Event]:
    """Yield the *events* of runs, each from its start, without what a program says.

    What governance would have stated, had it been so, is left out where a program did.
    """
    authority = Authority()
    for event in events:
        if authority.speaker(event) != "program":
            yield event
