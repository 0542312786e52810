"""Hypotheses that were registered and not judged, with the reason.

    {("better", "median"): "replicate 2 of median was not measured: division by zero"}

Rules:

- The registration says what was to be judged. All of it that has no verdict is listed
  here, whether a fact or a failed effect says why, or the run never got there.
- An undecided verdict is a verdict, and states its reason itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from muniment_plugins.harness.erasure import left_of
from muniment_plugins.harness.experiment.failures import ERASED, failures_of
from muniment_plugins.harness.experiment.treatments import BASELINE
from muniment_plugins.harness.preregistration.registration import KIND
from muniment_plugins.harness.statistics.verifiers import judged_by

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["planned", "unjudged_of"]

Row = Mapping[str, object]
Pair = tuple[str, str]
"""Hypothesis and condition."""


def planned(ledger: Ledger, registered: Event) -> Iterator[Pair]:
    """Yield the pairs that a registration says will be judged; none if it was erased."""
    told = left_of(ledger, registered)
    conditions = [str(one) for one in cast("Sequence[object]", told["conditions"])]
    for one in cast("Sequence[Row]", told.get("hypotheses", ())):
        compares = cast("Row", one["verifier"]).get("compares")
        for condition in judged_by(compares, conditions):
            yield str(one["name"]), condition


def unjudged_of(ledger: Ledger, events: Sequence[Event]) -> dict[Pair, str]:
    """Return each pair without a verdict in the run with these *events*, and why."""
    stated = next((one for one in events if one.type == KIND), None)
    if stated is None:
        return {}
    said = dict(_said(ledger, events))
    judged = {
        (str(one.raw["hypothesis"]), one.scope or "")
        for one in events
        if one.type == "verdict.reached"
    }
    open_still = [one for one in planned(ledger, stated) if one not in judged]
    if not open_still:
        return {}
    failed = _first_failures(ledger, events)
    return {
        pair: said.get(pair)
        or failed.get(pair[1])
        or failed.get(BASELINE)
        or "the run did not come that far"
        for pair in open_still
    }


def _said(ledger: Ledger, events: Iterable[Event]) -> Iterator[tuple[Pair, str]]:
    """Yield each pair with the reason that a fact gives; the last fact counts."""
    for event in events:
        if event.type == "hypothesis.unjudged":
            why = left_of(ledger, event).get("message", ERASED)
            yield (str(event.raw["hypothesis"]), event.scope or ""), str(why)


def _first_failures(ledger: Ledger, events: Sequence[Event]) -> dict[str, str]:
    """Return condition → how its first replicate failed."""
    found: dict[str, str] = {}
    for one in failures_of(ledger, events):
        condition, _, where = one.place.partition(", ")
        found.setdefault(condition, f"{where}: {one.message}")
    return found
