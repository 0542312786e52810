"""What a run is governed by, as its record says, and as people approved.

    policy.adopted   {"policy": "triage", "digest": "sha256:…", "document": {…}, …}

Rules:

- The first policy that a record adopts is the one whose digest labels the run's start; in
  a fork, that one or what its origin's record adopted by amendments of it.
  Each further one is an amendment of the one before, which the people of that approved.
  A record that says anything else was not written by this plugin alone, and nothing goes
  on from it.
- Only the plugin's own lane counts: what a program states elsewhere is its own word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, cast

from muniment import Event, RunFacts
from muniment.encoding.canonical import JsonValue
from muniment.errors import RefusedError, UsageError
from muniment.formats.statement import BlobRef
from muniment.hookspecs import OpenLedger
from muniment_plugins.governance.budgets.amendments import amended_by, proven
from muniment_plugins.governance.documents.manifest import FlowManifest
from muniment_plugins.governance.documents.policy import GovernancePolicy
from muniment_plugins.governance.governed import LABEL, PLUGIN, Governing

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = [
    "ADOPTED",
    "LANE",
    "Adopted",
    "adopted_by",
    "governing_of",
    "in_force",
]

ADOPTED = "policy.adopted"
LANE = f"plugin/{PLUGIN}"
"""The scope of what the plugin states by itself."""


@dataclass(frozen=True, slots=True)
class Adopted:
    """What a run is governed by, as its record and its amendments say."""

    documents: Governing
    amendment: Event | None = None
    """What amended it, if its record has not adopted that yet."""
    carried: str | None = None
    """The leaf hash of the amendment by which its record adopted it, if one did."""

    @classmethod
    def of(
        cls, events: Sequence[Event], run: RunFacts, ledger: OpenLedger
    ) -> Self | None:
        """Return what the record *events* adopted last; None if it adopted nothing.

        Raises:
            RefusedError: it states a policy that the run did not begin with, and that
                nobody approved.

        """
        found = [*filter(_adopts, events)]
        if not found:
            return None
        known, started = adopted_by(found[0], ledger, run.params), events[0]
        if not _begins_with(known, started, ledger):
            raise _forged(found[0])
        for event in found[1:]:
            amended = proven(ledger, started, event.raw.get("amendment"), known)
            if amended is None or _digests(amended) != _stated(event):
                raise _forged(event)
            known = amended
        told = found[-1].raw.get("amendment")
        carried = told if isinstance(told, str) else None
        if run.root is not None or not run.resumed:
            return cls(known, carried=carried)
        taken = {str(one.raw.get("amendment")) for one in found}
        later = amended_by(ledger, started, known, taken)
        return cls(known, carried=carried) if later is None else cls(*later)


def _adopts(event: Event) -> bool:
    return event.type == ADOPTED and event.scope == LANE


def _begins_with(known: Governing, started: Event, ledger: OpenLedger) -> bool:
    """Tell whether the run that *started* may begin with the policy *known*."""
    labels = started.raw.get("labels")
    label = labels.get(LABEL) if isinstance(labels, dict) else None
    fork = started.raw.get("fork")
    if known.policy.digest == label or not isinstance(fork, dict):
        return known.policy.digest == label
    return any(
        _digests(one) == _digests(known) for one in _adoptions(str(fork["run"]), ledger)
    )


def _adoptions(run: str, ledger: OpenLedger) -> Iterator[Governing]:
    """Yield what the record of *run* adopted, one after the other, as far as it may."""
    events = list(ledger.events(run=run))
    found = [*filter(_adopts, events)]
    if not found:
        return
    started = events[0]
    ref = started.data.get("params")
    params: object = ledger.value(ref) if isinstance(ref, BlobRef) else None
    given = cast("Mapping[str, object]", params or {})
    known = adopted_by(found[0], ledger, given)
    if not _begins_with(known, started, ledger):
        return
    yield known
    for event in found[1:]:
        amended = proven(ledger, started, event.raw.get("amendment"), known)
        if amended is None or _digests(amended) != _stated(event):
            return
        known = amended
        yield known


def _digests(documents: Governing) -> tuple[object, object]:
    flow = documents.flow
    return documents.policy.digest, None if flow is None else flow.digest


def _stated(event: Event) -> tuple[object, object]:
    return event.raw["digest"], event.raw.get("flow")


def _forged(event: Event) -> RefusedError:
    return RefusedError(
        "the record adopts a policy that the run did not begin with, and that nobody "
        "approved",
        rule="policy/forged",
        place=f"run {event.run}, event {event.seq}",
        remedy="whoever wrote it was not this plugin; start a new run",
    )


def adopted_by(
    event: Event, ledger: OpenLedger, params: Mapping[str, object]
) -> Governing:
    """Return the documents of a ``policy.adopted``; a flow's manifest is in the params.

    Raises:
        RefusedError: the documents are not those of the digests.

    """
    told = ledger.resolve(event)
    name = str(told["policy"])
    policy = GovernancePolicy.from_record(cast("JsonValue", told["document"]), name)
    flow: FlowManifest | None = None
    if told.get("flow") is not None:
        manifest = told.get("manifest") or params.get("flow")
        place = f"flow of run {event.run}"
        flow = FlowManifest.from_record(cast("JsonValue", manifest), place)
    if _digests(Governing(policy, flow)) != _stated(event):
        raise RefusedError(
            "a document that the run adopted is not that of its digest",
            rule="policy/digest",
            place=f"run {event.run}, event {event.seq}",
            remedy="`muniment verify` judges the ledger",
        )
    group = told.get("group")
    return Governing(policy, flow, None if group is None else str(group))


def in_force(ledger: Ledger, run: str) -> Governing | None:
    """Return what *run* is governed by now, as its own record says; None if it says none.

    Raises:
        RefusedError: its record states a policy that nobody approved.
        ErasedError: a document was erased.

    """
    events = tuple(ledger.events(run=run))
    if not any(map(_adopts, events)):
        return None  # whatever became of its params: a run that has none stays readable
    ref = events[0].data.get("params")
    params: object = ledger.value(ref) if isinstance(ref, BlobRef) else None
    facts = RunFacts(
        run,
        str(events[0].raw["name"]),
        params=cast("Mapping[str, object]", params or {}),
        resumed=True,
    )
    adopted = Adopted.of(events, facts, ledger)
    return None if adopted is None else adopted.documents


def governing_of(ledger: Ledger, run: str) -> tuple[Event, Governing]:
    """Return the start of *run*, and what it is governed by now.

    Raises:
        RefusedError: its record states a policy that nobody approved.
        UsageError: it is not governed, or was called by another run.

    """
    (started,) = ledger.events(run=run, limit=1)
    parent = started.raw.get("parent")
    documents = None if isinstance(parent, dict) else in_force(ledger, run)
    if documents is None:
        above = parent["root"] if isinstance(parent, dict) else None
        raise UsageError(
            "the run has no policy of its own",
            rule="policy/none",
            place=f"run {run}",
            remedy=f"name the run that called it, {above}"
            if above
            else "only runs that start with --policy are governed",
        )
    return started, documents
