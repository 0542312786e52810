"""What became of the tests of a run, in the words of a test result.

    outcomes = TestOutcomes.of(record)
    outcomes.result      PASSED, WARNED or FAILED
    outcomes.undecided   what was tested, and neither passed nor failed

Rules:

- Hypotheses are tests, under their scope; so are properties, over all executions.
- A test has one outcome, the worst that the record gives it: failed, then undecided, then
  warned, then passed.
- Whoever changed the question after a look at the data passed with a warning; so did a
  fork or a replay, whose answers came from another run; and so did whatever had not passed
  before a resume, which superseded that. What was never judged again is undecided.
- Nothing passed in a run that is marked *non_certifiable*, with a warning or without: no
  verdict on it may be relied upon, so what did not fail is undecided.
- The run passed if it completed and each test passed. The standard has no word for
  *undecided*: such a run did not pass, so its result is FAILED.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from muniment.formats.lifecycle import COMPLETED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muniment.formats.statement import Event
    from muniment_plugins.evidence.attestations.record import AttestedRun

__all__ = ["TestOutcomes"]

_VERDICT, _PROPERTY = "verdict.reached", "property.tested"
_WORST = ("failed", "undecided", "warned", "passed")
_VALID = (None, "valid")
"""What a verdict says of its integrity, if nothing is wrong with it."""


@dataclass(frozen=True, slots=True)
class TestOutcomes:
    """The names of the tests of a run, each under its outcome, in their order."""

    __test__ = False  # of no interest to pytest, whatever its name

    passed: Sequence[str]
    warned: Sequence[str]
    failed: Sequence[str]
    undecided: Sequence[str]
    completed: bool
    events: Sequence[Event]
    """What says so: verdicts, tests of properties, and what was not judged."""

    @classmethod
    def of(cls, record: AttestedRun) -> TestOutcomes:
        """Read the verdicts of the run."""
        events = [one for one in record.events if _is_test(one)]
        found: dict[str, str] = {}
        for event in events:
            if event.seq not in record.superseded:
                _add(found, _name(event), _outcome(event, derived=record.derived))
        for event in events:
            if event.seq in record.superseded:
                name, before = _name(event), _outcome(event, derived=False)
                if name not in found:
                    found[name] = "undecided"
                elif before != "passed":
                    _add(found, name, "warned")
        if not record.certifiable:
            for name in found:
                _add(found, name, "undecided")
        by = {
            outcome: tuple(name for name, said in found.items() if said == outcome)
            for outcome in _WORST
        }
        return cls(**by, completed=record.end == COMPLETED, events=events)

    @property
    def result(self) -> str:
        """What the whole comes to."""
        if self.failed or self.undecided or not self.completed:
            return "FAILED"
        return "WARNED" if self.warned else "PASSED"


def _is_test(event: Event) -> bool:
    return event.type in (_VERDICT, _PROPERTY) or event.type.endswith(".unjudged")


def _add(found: dict[str, str], name: str, outcome: str) -> None:
    """Give a test the worse of what it has and *outcome*."""
    found[name] = min(outcome, found.get(name, outcome), key=_WORST.index)


def _name(event: Event) -> str:
    if event.type == _PROPERTY:
        return f"property {event.raw.get('name')}"
    name = str(event.raw.get("hypothesis"))
    return f"{name} under {event.scope}" if event.scope else name


def _outcome(event: Event, *, derived: bool) -> str:
    passed = event.raw.get("passed")
    if event.type not in (_VERDICT, _PROPERTY) or not isinstance(passed, bool):
        return "undecided"
    if not passed:
        return "failed"
    sound = event.raw.get("integrity") in _VALID and not derived
    return "passed" if sound else "warned"
