"""Earlier registrations of the same question, and which of their runs saw data.

    >>> [one.run for one in Looks(ledger, own, said).family]

Rules:

- A question is identified by the name of its experiment or by the id of a claim, never
  by the claim's text. Runs with the same datasource may have seen the same data.
- Registrations are found by their subjects, so that the rest of the ledger is not read.
  Those of the first edition have none: they come first, and are read one by one.
- A run has looked once code ran on its data, or metrics were measured.
- Data is compared by content, within the ledger; no digest of it is stated. Edits (see
  `data_likeness`) are searched in data of up to a mebibyte, the first sixteen of a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

from muniment.encoding.canonical import canonical, sha256_tag
from muniment.encoding.codec import encode
from muniment.errors import ErasedError
from muniment.formats.statement import BlobRef, Event
from muniment_plugins.harness.erasure import left_of
from muniment_plugins.harness.preregistration.data_likeness import (
    LARGEST,
    rows_alike,
    rows_in,
)
from muniment_plugins.harness.preregistration.moves import claim_ids
from muniment_plugins.harness.preregistration.registration import (
    KIND,
    OF_CLAIM,
    OF_NAME,
    is_found,
    subjects_of,
)
from muniment_plugins.harness.steps.synthesis import without_remedies

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["Look", "Looks", "older", "runs_counted"]

_SECOND = 2
_COMPARED = 16
_LOOKED = "execution.completed,metrics.measured"

Row = Mapping[str, object]


@dataclass(frozen=True)
class Look:
    """A registration, and the run that made it, if any."""

    ledger: Ledger
    event: Event
    said: Row

    @property
    def run(self) -> str | None:
        """The run that registered itself; None for a registration without a run."""
        return self.event.run

    def looked(self, before: int) -> bool:
        """Tell whether its run had seen data before the event *before*."""
        found = self.ledger.events(run=self.run, type=_LOOKED, to_seq=before, limit=1)
        return self.run is not None and next(found, None) is not None

    @cached_property
    def seed(self) -> object:
        """The seed of its run."""
        (started,) = self.ledger.events(run=self.run, limit=1)
        return started.raw.get("seed")

    @cached_property
    def refs(self) -> list[BlobRef]:
        """The blobs of its data, in the order of the log."""
        events = self.ledger.events(run=self.run, type="data.completed")
        values = (one.data.get("value") for one in events)
        return [one for one in values if isinstance(one, BlobRef)]

    @cached_property
    def contents(self) -> set[str]:
        """Digests of its data; for comparison only."""
        return {one for one in self._digests if one is not None}

    @cached_property
    def rows(self) -> list[Counter[bytes]]:
        """The rows of each of its data sets that are compared."""
        return self._rows(by_value=True)

    @cached_property
    def typed_rows(self) -> list[Counter[bytes]]:
        """The same rows, with numbers of different types told apart."""
        return self._rows(by_value=False)

    def _rows(self, *, by_value: bool) -> list[Counter[bytes]]:
        compared = [one for one in self.refs[:_COMPARED] if one.size <= LARGEST]
        values = map(self.ledger.value, compared)
        return [rows_in(one, by_value=by_value) for one in values]

    @cached_property
    def was_erased(self) -> bool:
        """Whether some of its data was erased."""
        return None in self._digests

    @cached_property
    def code(self) -> set[str]:
        """Digests of the code that was accepted in its run."""
        found: set[str] = set()
        for event in self.ledger.events(run=self.run, type="synthesis.attempted"):
            data = left_of(self.ledger, event)
            if data.get("accepted") and isinstance(data.get("code"), str):
                text = cast("str", data["code"]).encode("utf-8", "surrogatepass")
                found.add(sha256_tag(text))
        return found

    @cached_property
    def _digests(self) -> list[str | None]:
        """Digests of its data; None for what was erased."""
        return [*map(self._digest, self.refs)]

    def _digest(self, ref: BlobRef) -> str | None:
        try:
            return sha256_tag(self.ledger.get_blob(ref))
        except ErasedError:
            return None  # it cannot be compared; `was_erased` says so

    def saw(self, other: Look, *, by_value: bool) -> str | None:
        """Return what this run saw of the data of *other*; None if nothing."""
        if self.contents & other.contents:
            return "this data"
        mine, its = self.typed_rows, other.typed_rows
        if by_value:
            mine, its = self.rows, other.rows
        near = (rows_alike(a, b) for a in mine for b in its)
        return "an edit of this data" if any(near) else None


class Looks:
    """The earlier registrations in the ledger that concern the same question as one."""

    def __init__(self, ledger: Ledger, own: Event, said: Row) -> None:
        names = ledger.plugins.names
        self.own = Look(ledger, own, cast("Row", names.now(said)))
        self.earlier = sorted(self._earlier(), key=lambda one: one.event.seq)

    @property
    def family(self) -> list[Look]:
        """Registrations of the same name, or of one of the claims."""
        return [one for one in self.earlier if self.is_kin(one)]

    def is_kin(self, other: Look) -> bool:
        """Tell whether *other* asks the same question."""
        return self.has_name(other) or bool(self.shared_claims(other))

    def has_name(self, other: Look) -> bool:
        """Tell whether *other* has the same name."""
        return other.said["experiment"] == self.own.said["experiment"]

    def shared_claims(self, other: Look) -> set[str]:
        """Return the claims that both name."""
        return claim_ids(other.said) & claim_ids(self.own.said)

    @property
    def denominator(self) -> dict[str, int]:
        """How many runs of these claims and this name the ledger holds, with this one.

        Counted from registrations if no series counts: see `runs_counted`.
        """
        runs = [one for one in self.earlier if one.run is not None]
        claims = {one.run for one in runs if self.shared_claims(one)}
        named = {one.run for one in runs if self.has_name(one)}
        return {"claim": len(claims) + 1, "experiment": len(named) + 1}

    def _earlier(self) -> Iterator[Look]:
        ledger, own = self.own.ledger, self.own.event
        found: dict[int, Event] = {}
        for digest in {digest for _, digest in subjects_of(self.own.said)}:
            for event in ledger.events(type=KIND, subject=digest, to_seq=own.seq):
                found[event.seq] = event
        for event in older(ledger, own.seq):
            found.setdefault(event.seq, event)
        for event in found.values():
            look = Look(ledger, event, self._as_now(left_of(ledger, event)))
            if is_found(event) or self.is_kin(look):
                yield look

    def _as_now(self, said: Row) -> Row:
        """Return a registration with its functions under today's names."""
        now = dict(cast("Row", self.own.ledger.plugins.names.now(said)))
        if said.get("plan") in self._plans:
            for name in now.keys() & {"plan", "parts"}:
                now[name] = self.own.said[name]
        return now

    @property
    def by_value(self) -> bool:
        """Whether our plan is of an edition that compares data by value."""
        return cast("int", self._planned.get("edition", 1)) > _SECOND

    @cached_property
    def _planned(self) -> Row:
        return planned(self.own.ledger, self.own.event.run)

    @cached_property
    def _plans(self) -> set[str]:
        """The digests of our plan as described today, and as described before."""
        names, told = self.own.ledger.plugins.names, self._planned
        if not told:
            return set()
        steps = [without_remedies(one) for one in cast("list[Row]", told["pipeline"])]
        second = {**told, "edition": _SECOND} if self.by_value else told
        return {
            sha256_tag(canonical(encode(name(one))))
            for one in (told, second, {**second, "pipeline": steps})
            for name in (names.now, names.before)
        }


def runs_counted(ledger: Ledger, started: Event) -> dict[str, int]:
    """Return how many runs there are of its claim and name, by the series of its start.

    Empty if it has no series, as in ledgers whose events have none.
    """
    links = {one.key: one for one in started.series}
    of_claims = [key for key in links if key.startswith(f"{OF_CLAIM}/")]
    named = [one.count for key, one in links.items() if key.startswith(f"{OF_NAME}/")]
    if not named:
        return {}
    if len(of_claims) == 1:
        claim = links[of_claims[0]].count
    else:  # each claim counts its own runs, and these overlap
        end = started.seq + 1
        each = (ledger.events(series=key, to_seq=end) for key in of_claims)
        claim = len({one.run for events in each for one in events} | {started.run})
    return {"claim": claim, "experiment": named[0]}


def planned(ledger: Ledger, run: str | None) -> Row:
    """Return the plan of *run* without its replicates; empty if it was erased."""
    (started,) = ledger.events(run=run, limit=1)
    params = started.data.get("params")
    try:
        told = ledger.value(params) if isinstance(params, BlobRef) else None
    except ErasedError:
        return {}
    plan = cast("Row", told).get("plan") if isinstance(told, Mapping) else None
    if not isinstance(plan, Mapping):
        return {}
    rows = cast("Row", plan)
    return {name: rows[name] for name in rows.keys() - {"replicates"}}


def older(ledger: Ledger, before: int | None = None) -> Iterator[Event]:
    """Yield the registrations of the first edition, which only reading finds."""
    first = next(ledger.events(type=KIND, to_seq=before, limit=1), None)
    if first is None or is_found(first):
        return  # as in all of today's ledgers; nothing more is read
    for event in ledger.events(type=KIND, to_seq=before):
        if is_found(event):
            return
        yield event
