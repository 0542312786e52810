"""What a flow counts by itself: steps, artifacts, evidence.

    budget.exhausted   {"budget": "flow flow-boring", "limit": "step_limit", "action": "halt",
                        "effect": "step", "detail": "3 of 3"}

Rules:

- The program counts what only it makes, in its own order: so a resume and a replay come
  to the same counts, with or without plugins. All other budgets are the governor's.
- Each limit of the policy and of the flow counts, the policy's first. What a flow makes
  that is a part of another one counts in each flow above it: its pins say what those have
  used when it begins, and its result what they have to add. ``artifact_step_limit`` is
  about one step, of whichever of these flows.
- Before one more than the limit: *halt* fails the flow; *degrade* puts the fallback in its
  place, and says so; *mark_non_certifiable* marks the run, once for each limit, and goes
  on. Under an unsafe policy the violation is noted instead, and the run is marked.
- Whether people amended a limit is asked by an effect, of the kind ``amendment``, which
  the governor answers: it halts the run if nobody has, and so those above it. A resume
  asks again, and a replay knows the answer.
- In place of a step, a fallback is an answer, an agent, or nothing; in place of an
  artifact or of evidence it is nothing: that is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from muniment.documents.places import At
from muniment.encoding.canonical import JsonValue
from muniment.errors import EffectFailed
from muniment.runs.run import Run
from muniment.runs.waits.own import own
from muniment_plugins.governance.documents.budgets import (
    ExecutionBudget,
    execution_budget,
)
from muniment_plugins.governance.flows.failed import FlowFailed
from muniment_plugins.governance.flows.raised import EFFECTS, used_up

__all__ = ["AmendedLimit", "FlowCounts", "FlowTally", "amendment_fault"]

_MARK = "non_certifiable"
_MARKS = "mark_non_certifiable"
_SUMMED = ("step_limit", "artifact_limit", "evidence_limit")
_OF_STEP = "artifact_step_limit"


@dataclass(frozen=True, slots=True)
class AmendedLimit:
    """The question whether people have raised a limit, which the governor answers."""

    budget: str
    limit: str
    used: int

    def request(self) -> dict[str, JsonValue]:
        """Return the request in the record."""
        return {"budget": self.budget, "limit": self.limit, "used": self.used}

    def perform(self, call: object, *, awaits: bool) -> object:  # noqa: ARG002 - as it is called
        """Refuse: nobody has raised it, since nothing here knows of it."""
        raise used_up(self.budget, self.limit, self.used)


@dataclass(slots=True)
class FlowTally:
    """What one budget allows, and what of it is used."""

    name: str
    budget: ExecutionBudget
    used: dict[str, int] = field(default_factory=dict[str, int])
    """Limit → how much of it was used when the flow began, and by the flow since."""
    terms: JsonValue = None
    """The budget as its manifest has it; None for the policy's."""
    told: set[str] = field(default_factory=set[str])
    """The limits of which the flow said that they were reached."""
    amended: dict[str, int] = field(default_factory=dict[str, int])

    @classmethod
    def of_row(cls, row: Mapping[str, JsonValue]) -> FlowTally:
        """Return the tally of a flow above, as the pins of its part have it."""
        name, terms = str(row["budget"]), row["terms"]
        budget = execution_budget(terms, At(name, "flow").key("execution_budget"))
        return cls(name, budget, dict(cast("dict[str, int]", row["used"])), terms)

    def row(self) -> dict[str, JsonValue]:
        """Return it as the pins of a part have it."""
        return {"budget": self.name, "terms": self.terms, "used": {**self.used}}


@dataclass(slots=True)
class FlowCounts:
    """The counts of one run of a flow."""

    tallies: list[FlowTally]
    """The policy's first, then those of the flows above, then the flow's own."""
    is_unsafe: bool = False
    """Whether the policy lets the flow go on beyond its limits, and has that noted."""
    made: dict[str, int] = field(default_factory=dict[str, int])
    """Limit → what the flow used of it, and its parts."""
    marks: list[str] = field(default_factory=list[str])
    """Why the run is marked, where no flow above would find that out by itself."""
    _in_step: int = 0

    def begin_step(self) -> None:
        """Count the artifacts of another step."""
        self._in_step = 0

    def take(self, lane: Run, *limits: str) -> JsonValue:
        """Count one more under each of *limits*; return what takes its place, if anything.

        Raises:
            FlowFailed: a limit was reached, and its action is to halt.

        """
        for limit in limits:
            for tally in self.tallies:
                instead = self._beyond(lane, tally, limit)
                if instead is not None:
                    return instead
        for limit in limits:
            self._count(limit, 1)
        return None

    def _count(self, limit: str, more: int) -> None:
        if limit == _OF_STEP:
            self._in_step += more
            return
        self.made[limit] = self.made.get(limit, 0) + more
        for tally in self.tallies:
            tally.used[limit] = tally.used.get(limit, 0) + more

    def above(self) -> list[JsonValue]:
        """Return what the pins of a part say of the budgets above it, as they are now."""
        return [one.row() for one in self.tallies]

    def counted(self) -> dict[str, JsonValue]:
        """Return what the flow above counts of this one, and what marks it with it."""
        beyond: list[JsonValue] = [
            {"budget": tally.name, "limit": limit}
            for tally in self.tallies[:-1]
            for limit in sorted(tally.told)
        ]
        used = {one: self.made.get(one, 0) for one in _SUMMED}
        return {"used": {**used}, "beyond": beyond, "marks": [*self.marks]}

    def absorb(self, lane: Run, counted: Mapping[str, JsonValue]) -> None:
        """Count what a part *counted*; be marked as it is, and by limits that it passed."""
        for limit, more in cast("Mapping[str, int]", counted["used"]).items():
            self._count(limit, more)
        for one in cast("list[Mapping[str, str]]", counted["beyond"]):
            for tally in self.tallies:
                if tally.name == one["budget"]:
                    self._passed_below(lane, tally, one["limit"])
        for why in cast("list[str]", counted["marks"]):
            self.mark(lane, f"in a part of it: {why}")

    def mark(self, lane: Run, why: str) -> None:
        """Mark the run, and the flows above when they take in what this one counted."""
        self.marks.append(why)
        lane.mark(_MARK, why)

    def _passed_below(self, lane: Run, tally: FlowTally, limit: str) -> None:
        """Mark this run, too, where a part went on beyond a limit."""
        budget = tally.budget
        marks = self.is_unsafe or budget.exhaustion_action == _MARKS
        if not marks or limit in tally.told:
            return
        tally.told.add(limit)
        self._go_on(lane, tally, limit, cast("int", getattr(budget, limit)))

    def _beyond(self, lane: Run, tally: FlowTally, limit: str) -> JsonValue:
        budget = tally.budget
        declared = cast("int | None", getattr(budget, limit))
        most = tally.amended.get(limit, declared)
        used = self._in_step if limit == _OF_STEP else tally.used.get(limit, 0)
        if most is None or used < most:
            return None
        action, effect = budget.exhaustion_action, EFFECTS[limit]
        once = self.is_unsafe or action == _MARKS
        if once and limit in tally.told:
            return None
        tally.told.add(limit)
        if once:
            self._go_on(lane, tally, limit, most)
            return None
        _state(lane, tally, limit, most)
        if action == "halt":
            tally.amended[limit] = _asked(lane, tally.name, limit, used)
            return None
        instead = budget.fallback
        if effect != "step" or instead == "cached":
            instead = "skip"  # nothing else can be in its place
        lane.record(
            "effect.degraded",
            {
                "effect": effect,
                "scope": lane.scope_path,
                "fallback": instead,
                "budget": tally.name,
                "limit": limit,
            },
        )
        return instead

    def _go_on(self, lane: Run, tally: FlowTally, limit: str, most: int) -> None:
        """State that the flow goes beyond a limit, and mark its run."""
        if self.is_unsafe:
            detail = f"{most} of {most}"
            said = {"target": lane.scope_path, "rule": limit, "detail": detail}
            lane.record("violation.noted", said)
            why = f"{limit} {most} was exceeded, and unsafe goes on"
        else:
            _state(lane, tally, limit, most)
            why = f"{limit} {most} was exceeded"
        if tally is self.tallies[-1]:
            self.mark(lane, f"{tally.name}: {why}")
        else:
            lane.mark(_MARK, f"{tally.name}: {why}")


def _state(lane: Run, tally: FlowTally, limit: str, most: int) -> None:
    lane.record(
        "budget.exhausted",
        {
            "budget": tally.name,
            "limit": limit,
            "action": tally.budget.exhaustion_action,
            "effect": EFFECTS[limit],
            "scope": lane.scope_path,
            "detail": f"{most} of {most}",
        },
    )


def _asked(lane: Run, name: str, limit: str, used: int) -> int:
    """Return the limit as people have amended it.

    Raises:
        FlowFailed: nobody has, or not above what is *used*.

    """
    try:
        return cast(
            "int", lane.effect("amendment", AmendedLimit(name, limit, used), own)
        )
    except EffectFailed as failed:
        raise FlowFailed(
            failed.message,
            rule="flow/budget",
            place=f"{lane.scope_path or 'flow'}: {limit}",
            remedy="`muniment amend` asks people to raise it; or raise it in a new run",
        ) from failed


def amendment_fault(request: object, value: object) -> str | None:
    """Say what is wrong with *value* as a limit that people raised."""
    used = cast("Mapping[str, int]", request)["used"]
    if type(value) is int and value > used:
        return None
    return f"it is a limit, a whole number above the {used} that are used"
