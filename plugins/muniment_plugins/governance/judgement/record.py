"""A run as the judge compares it: from a ledger, a replay, or anybody who has its facts.

    expected = record_of(ledger, "01JD3")
    expected.entries[0]         AccountEntry("", "note.added", {"text": …}, 7)
    expected.claims             {("c1", "rates fell"): 12}

Rules:

- It is a value: it reads nothing, and two that are equal are judged equally.
- Claims, contradictions and evidence follow from the entries. A claim is an id with a
  statement: the same id that says something else is another claim. So it is with
  contradictions, which name claims by their ids.
- The runs that a recorded run called belong to it, each a record of its own.
- A replay is told the parameters, the policy and the environment of its record, so they
  are equal there; what a program states of its environment is compared like any fact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from muniment.encoding.canonical import JsonValue, parse
from muniment.events.visibility import is_private
from muniment.formats.lifecycle import MARKED
from muniment.formats.statement import BlobRef, Event
from muniment.recorded.divergence import Divergence
from muniment.replays.account import AccountEnd, AccountEntry, RunAccount, account_of
from muniment_plugins.governance.governed import LABEL
from muniment_plugins.governance.judgement.contradictions import (
    Contradiction,
    contradictions_in,
)

if TYPE_CHECKING:
    from muniment.ledger import Ledger
    from muniment.replays.account import SeenRun

__all__ = ["ComparedRun", "observed_of", "record_of", "recorded_of"]

CLAIMS = ("claim.stated", "reasoning.recorded")
EVIDENCE = "evidence.collected"


@dataclass(frozen=True)
class ComparedRun:
    """One run: what it began with, what it did, and how it ended."""

    run: str
    entries: tuple[AccountEntry, ...] = ()
    """Facts and effects in their order; those of one scope are a sequence."""
    end: AccountEnd | None = None
    """Status with the result, or with the failure; None for a run without an end."""
    params: JsonValue = None
    environment: JsonValue = None
    """Where it ran; compared only if neither run states a fingerprint as a fact."""
    policy: str | None = None
    """The digest of the policy that governed it."""
    start: int | None = None
    """The event with which it started."""
    private: bool = field(default=False, compare=False, kw_only=True)
    """Whether what it began with is kept private."""
    marks: tuple[tuple[str, str], ...] = ()
    """Marks with their reasons."""
    stopped: bool = False
    """Whether it was stopped, so that what would have followed is not known."""
    told: tuple[Divergence, ...] = ()
    """Differences from the record that only the program itself can see."""
    gaps: tuple[Divergence, ...] = ()
    """What its record says it lacks."""
    attempts: tuple[tuple[str, str], ...] = ()
    """Forbidden attempts: the guard that saw it, and what was attempted."""
    undeclared: tuple[tuple[int, str], ...] = ()
    """Events of types that no active plugin declares."""
    children: Mapping[str, ComparedRun] = field(
        default_factory=dict[str, "ComparedRun"], compare=False
    )
    """The child runs that it called, by id; none of a replay, which calls none."""

    @cached_property
    def claims(self) -> Mapping[tuple[str, str], int | None]:
        """Claims by id and statement, with the event that made each first."""
        found: dict[tuple[str, str], int | None] = {}
        for entry in self.entries:
            for one in _claims(entry):
                found.setdefault(one, entry.seq)
        return found

    @cached_property
    def contradictions(self) -> Counter[Contradiction]:
        """The contradictions that were found in it."""
        return contradictions_in(self.entries, self.claims)

    @cached_property
    def evidence(self) -> frozenset[tuple[str, str]]:
        """The ids of its evidence, with the digests of their contents."""
        return frozenset(
            (str(entry.data.get("evidence_id")), str(entry.data.get("digest")))
            for entry in self.entries
            if entry.type == EVIDENCE
        )


def _claims(entry: AccountEntry) -> Iterator[tuple[str, str]]:
    data = entry.data
    if entry.type == "claim.stated":
        yield str(data.get("id")), str(data.get("text"))
    if entry.type != "reasoning.recorded":
        return
    bundle = data.get("bundle", data)
    listed = bundle.get("claims") if isinstance(bundle, dict) else data.get("claims")
    for one in listed if isinstance(listed, list) else []:
        if isinstance(one, dict):
            yield str(one.get("claim_id")), str(one.get("statement"))


def record_of(ledger: Ledger, run: str) -> ComparedRun:
    """Return the recorded *run* as the judge compares it, with the runs that it called.

    Raises:
        ErasedError: content that is needed was erased.

    """
    return _with_children(ledger, ledger.run_id(run), frozenset())


def _with_children(ledger: Ledger, run: str, above: frozenset[str]) -> ComparedRun:
    found, above = recorded_of(ledger, account_of(ledger, run)), above | {run}
    children = {
        child: _with_children(ledger, child, above)
        for child in _called(found.entries)
        if child not in above
    }
    return replace(found, children=children)


def _called(entries: Iterable[AccountEntry]) -> Iterator[str]:
    for one in entries:
        if one.called is not None:
            yield one.called
        for lane in (one.inside or {}).values():
            yield from _called(lane)


def recorded_of(ledger: Ledger, account: RunAccount) -> ComparedRun:
    """Return the run of the *account* that was made from its record."""
    events = list(ledger.events(run=account.run))
    started = events[0]
    labels = started.raw.get("labels")
    policy = labels.get(LABEL) if isinstance(labels, dict) else None
    return ComparedRun(
        account.run,
        account.entries,
        account.end,
        _params(ledger, started),
        started.raw.get("environment"),
        policy if isinstance(policy, str) else None,
        started.seq,
        tuple(_marks(ledger, events)),
        undeclared=account.undeclared,
        private=is_private(started),
    )


def observed_of(expected: ComparedRun, seen: SeenRun) -> ComparedRun:
    """Return what a replay of *expected* observed."""
    account = seen.observed()
    return replace(
        expected,
        entries=account.entries,
        end=account.end,
        stopped=account.stopped,
        told=account.told,
        gaps=account.gaps,
        attempts=account.attempts,
    )


def _params(ledger: Ledger, started: Event) -> JsonValue:
    ref = started.raw.get("params")
    if isinstance(ref, dict) and "$blob" in ref:
        return parse(ledger.get_blob(BlobRef.from_json(ref)))
    return ref


def _marks(ledger: Ledger, events: list[Event]) -> Iterator[tuple[str, str]]:
    for event in events:
        if event.type == MARKED:
            data = ledger.resolve(event)
            yield str(data["mark"]), str(data["reason"])
