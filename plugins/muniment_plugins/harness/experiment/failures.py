"""The failures of an experiment's run, read from its events.

    baseline, replicate 0, bounded_synthesis: …: Import not allowed: os [capsule/import]

Rules:

- A failure is a fact ``replicate.failed`` or ``hypothesis.unjudged``, or an effect that
  the end of the run names as its cause, which no fact repeats.
- What succeeded in a later resume is not a failure any more.
- Failures that differ only in their replicate are summed up as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from muniment_plugins.harness.erasure import left_of
from muniment_plugins.harness.experiment.remedies import remedy_of

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["ERASED", "LACKING", "Failure", "failures_of", "place_in", "summed_up"]

ERASED = "what was said was erased"
LACKING = "harness/replicates"
"""The rule that leaves a hypothesis unjudged when replicates were not measured."""

_SCOPE = re.compile(r"(?P<condition>[^/]+)(/replicate/(?P<replicate>\d+))?(/.*)?")
_STEPS = {
    "data": "datasource",
    "execution": "execute_capsule",
    "llm": "bounded_synthesis",
}
_REPLICATE = re.compile(r", replicate (\d+)")
_LISTED = 8
"""How many replicates a summary names."""
_LONGEST = 300
"""How many characters of a message a summary shows."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure, and where it happened."""

    place: str
    error_type: str
    message: str
    rule: str | None = None
    line: int | None = None
    remedy: str | None = None
    """What to do about it, if known."""

    def __str__(self) -> str:
        """One line."""
        at = "" if self.line is None else f", line {self.line}"
        rule = "" if self.rule is None else f" [{self.rule}]"
        return f"{self.place}: {self.error_type}: {self.message}{at}{rule}"


def summed_up(failures: Iterable[Failure]) -> list[str]:
    """Return a line for each distinct failure, with the replicates that had it."""
    alike: dict[Failure, list[str]] = {}
    for one in failures:
        number = _REPLICATE.search(one.place)
        everywhere = replace(one, place=_REPLICATE.sub("", one.place))
        alike.setdefault(everywhere, []).append(number[1] if number else "")
    return [_summed(one, numbers) for one, numbers in alike.items()]


def _summed(one: Failure, numbers: list[str]) -> str:
    struck = [number for number in numbers if number]
    where = "replicate " if len(struck) == 1 else f"{len(struck)} replicates: "
    listed = ", ".join(struck[:_LISTED]) + (", …" if len(struck) > _LISTED else "")
    place = f"{one.place} ({where}{listed})" if struck else one.place
    message = " ".join(one.message.split())
    if len(message) > _LONGEST:
        message = f"{message[: _LONGEST - 1]}…"
    remedy = f"; {one.remedy}" if one.remedy else ""
    return f"{replace(one, place=place, message=message)}{remedy}"


def place_in(scope: str | None) -> tuple[str, int | None]:
    """Return condition and number of the replicate that *scope* belongs to."""
    match = _SCOPE.fullmatch(scope or "")
    if match is None:
        return "", None
    number = match["replicate"]
    return match["condition"], None if number is None else int(number)


def failures_of(ledger: Ledger, events: Iterable[Event]) -> tuple[Failure, ...]:
    """Return what failed in the run with these *events*, by condition and replicate."""
    found: list[tuple[tuple[str, int], Failure]] = []
    last_attempts: dict[tuple[str | None, int | None], Event] = {}
    causes: list[object] = []
    for event in events:
        if event.type in ("replicate.failed", "hypothesis.unjudged"):
            # If a verdict lacks replicates, their own failures are listed instead.
            if event.raw.get("rule") != LACKING:
                found.append(_stated(event, _told(ledger, event)))
        elif event.type == "run.failed":
            causes = cast("list[object]", event.raw.get("cause") or [])
        elif (
            event.type.endswith((".failed", ".completed")) and event.ordinal is not None
        ):
            last_attempts[event.scope, event.ordinal] = event
    for event in last_attempts.values():
        named = [event.scope, event.ordinal] in causes
        if named and event.type.endswith(".failed") and "@" not in (event.scope or ""):
            found.append(_of_effect(event, _told(ledger, event)))
    return tuple(one for _, one in sorted(found, key=lambda pair: pair[0]))


def _told(ledger: Ledger, event: Event) -> Mapping[str, object]:
    """Return what *event* says of a failure; the words may have been erased."""
    return {"message": ERASED, **left_of(ledger, event)}


def _stated(
    event: Event, data: Mapping[str, object]
) -> tuple[tuple[str, int], Failure]:
    condition, number = place_in(event.scope)
    where = f"replicate {number}, {data.get('function') or data.get('step')}"
    if "hypothesis" in data:
        where = f"hypothesis {data['hypothesis']}"
    failure = Failure(
        f"{condition}, {where}",
        cast("str", data["error_type"]),
        cast("str", data["message"]),
        cast("str | None", data.get("rule")),
        cast("int | None", data.get("line")),
        cast("str | None", data.get("remedy")) or None,
    )
    return (condition, -1 if number is None else number), failure


def _of_effect(
    event: Event, data: Mapping[str, object]
) -> tuple[tuple[str, int], Failure]:
    condition, number = place_in(event.scope)
    kind = event.type.removesuffix(".failed")
    error_type, message = str(data["error_type"]), str(data["message"])
    told = data.get("data")
    more = cast("dict[str, object]", told if isinstance(told, dict) else {})
    failure = Failure(
        f"{condition}, replicate {number}, {_STEPS.get(kind, kind)}",
        error_type,
        message,
        cast("str | None", more.get("rule", f"effect/{kind}")),
        cast("int | None", more.get("line") or None),
        str(more.get("remedy") or "") or remedy_of(kind, error_type, message),
    )
    return (condition, -1 if number is None else number), failure
