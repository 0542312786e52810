"""What became of the hypotheses of a run, in the words of a test result.

    outcomes = TestOutcomes.of(record)
    outcomes.result      PASSED, WARNED or FAILED
    outcomes.undecided   what was tested, and neither passed nor failed

Rules:

- A hypothesis has one outcome, the worst that any of its verdicts gives it: failed, then
  undecided, then warned, then passed.
- Whoever changed the question after a look at the data passed with a warning; so did a
  fork or a replay, whose answers came from another run.
- The run passed if it completed and each hypothesis passed. The standard has no word for
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

_WORST = ("failed", "undecided", "warned", "passed")
_VALID = (None, "valid")
"""What a verdict says of its integrity, if nothing is wrong with it."""


@dataclass(frozen=True, slots=True)
class TestOutcomes:
    """The names of the hypotheses of a run, each under its outcome, in their order."""

    __test__ = False  # of no interest to pytest, whatever its name

    passed: Sequence[str]
    warned: Sequence[str]
    failed: Sequence[str]
    undecided: Sequence[str]
    completed: bool
    events: Sequence[Event]
    """The verdicts, and what says that there is none."""

    @classmethod
    def of(cls, record: AttestedRun) -> TestOutcomes:
        """Read the verdicts of the run."""
        reached = record.counted("verdict.reached")
        unjudged = record.left_open()
        found: dict[str, str] = {}
        for event in sorted([*reached, *unjudged], key=lambda one: one.seq):
            name = _name(event)
            said = _outcome(event, derived=record.derived)
            found[name] = min(said, found.get(name, said), key=_WORST.index)
        by = {
            outcome: tuple(name for name, said in found.items() if said == outcome)
            for outcome in _WORST
        }
        completed = record.end == COMPLETED
        return cls(**by, completed=completed, events=[*reached, *unjudged])

    @property
    def result(self) -> str:
        """What the whole comes to."""
        if self.failed or self.undecided or not self.completed:
            return "FAILED"
        return "WARNED" if self.warned else "PASSED"


def _name(event: Event) -> str:
    name = str(event.raw.get("hypothesis"))
    return f"{name} under {event.scope}" if event.scope else name


def _outcome(event: Event, *, derived: bool) -> str:
    passed = event.raw.get("passed")
    if event.type != "verdict.reached" or not isinstance(passed, bool):
        return "undecided"
    if not passed:
        return "failed"
    sound = event.raw.get("integrity") in _VALID and not derived
    return "passed" if sound else "warned"
