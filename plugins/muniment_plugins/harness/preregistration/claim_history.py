"""The claims of a ledger, with every run that was made for each of them.

    for one in claim_histories(ledger):
        print(one.id, [run.id for run in one.runs])

Rules:

- A claim is known by its id, never by its text: two texts under one id are one claim
  that was changed, and both are told, in the order of the log.
- A run is made for the claims that its registration names, for those that it states, and
  for those in whose series its start is counted, whether it came any further or not. A run
  that only answers from another's record, as a replay does, states nothing and is none.
- It reads events, and verifies nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from muniment.errors import MunimentError
from muniment.formats.lifecycle import STARTED
from muniment.formats.series import series_key
from muniment.formats.statement import BlobRef
from muniment_plugins.harness.preregistration.registration import KIND, OF_CLAIM

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["ClaimHistory", "ClaimRun", "claim_histories"]

_STATED = "claim.stated"
Told = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ClaimRun:
    """A run that was made for a claim."""

    id: str
    name: str
    started: str
    """RFC 3339, as its writer claims."""
    number: int | None
    """Which run of the claim it is, by the signed series of its start; None without."""


@dataclass(slots=True)
class ClaimHistory:
    """What a ledger holds about one claim."""

    id: str
    texts: list[str] = field(default_factory=list[str])
    """Each text that the claim had, first to last."""
    runs: list[ClaimRun] = field(default_factory=list[ClaimRun])
    """In the order in which they started."""
    registrations: int = 0
    """How often it was registered apart from a run."""


def claim_histories(ledger: Ledger, size: int | None = None) -> list[ClaimHistory]:
    """Return the claims of *ledger*, in the order in which they were first named.

    Args:
        ledger: what is read.
        size: how many events are; all if not given.

    """
    found: dict[str, ClaimHistory] = {}
    made: dict[str, set[str]] = {}
    for event in ledger.events(type=f"{KIND},{_STATED}", to_seq=size):
        for said in _claims(ledger, event):
            name = said.get("id")
            if not isinstance(name, str):
                continue
            history = found.setdefault(name, ClaimHistory(name))
            text = _there(ledger, said.get("text"))
            if isinstance(text, str) and text not in history.texts:
                history.texts.append(text)
            if event.run is None:
                history.registrations += event.type == KIND
            else:
                made.setdefault(name, set()).add(event.run)
    for name, history in found.items():
        history.runs += _runs(ledger, name, made.get(name, set()), size)
    return list(found.values())


def _claims(ledger: Ledger, event: Event) -> Iterator[Told]:
    """Yield the claims that *event* names; none if they were erased."""
    if event.type == _STATED:
        yield event.raw
        return
    claims = _there(ledger, event.raw.get("claims"))
    for one in cast("list[object]", claims) if isinstance(claims, list) else []:
        if isinstance(one, Mapping):
            yield cast("Told", one)


def _runs(
    ledger: Ledger, claim: str, named: set[str], size: int | None
) -> Iterator[ClaimRun]:
    """Yield the runs that *named* the claim, and those that its series counts."""
    key = series_key(OF_CLAIM, claim)
    starts = {
        event.seq: event
        for event in ledger.events(series=key, type=STARTED, to_seq=size)
    }
    for run in named:
        starts |= {
            one.seq: one for one in ledger.events(run=run, type=STARTED, limit=1)
        }
    for _, event in sorted(starts.items()):
        number = next((one.count for one in event.series if one.key == key), None)
        name = str(event.raw.get("name", ""))
        yield ClaimRun(str(event.run), name, event.time, number)


def _there(ledger: Ledger, value: object) -> object:
    """Return a *value* of an event, read if it is a blob; None if it cannot be read."""
    if not isinstance(value, Mapping) or "$blob" not in value:
        return value  # pyright: ignore[reportUnknownVariableType]
    try:
        return ledger.value(BlobRef.from_json(cast("Mapping[str, JsonValue]", value)))
    except MunimentError:  # it was erased, or is none
        return None
