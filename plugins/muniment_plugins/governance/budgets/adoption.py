"""How a run comes by its governor: from where it starts, or from its record.

    run.started      {"labels": {"policy": "sha256:…"}, …}
    policy.adopted   {"policy": "triage", "digest": "sha256:…", "document": {…}, …}

Rules:

- A run that starts is governed by the policy of its context (`governed`), a child by that
  of the run which calls it, a fork by its origin's, and a resumed run by the last one that
  its record adopted. None of them is governed by less than before.
- A resume under another policy is refused. So is one of a run that its budget halted: it
  goes on after an amendment of its policy, signed by people.
- What a policy forbids is refused before anything is written: a flow that declares more
  than it may, a fork of what is strict, a fallback that cannot be found.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, cast

from muniment import Event, Run, RunFacts
from muniment.encoding.canonical import JsonValue
from muniment.errors import RefusedError, UsageError
from muniment.formats.statement import BlobRef
from muniment.hookspecs import OpenLedger
from muniment.programs.references import refer
from muniment_plugins.governance.budgets.amendments import amended_by, answers_to
from muniment_plugins.governance.budgets.fallbacks import functions_of
from muniment_plugins.governance.budgets.governor import (
    MARK,
    Governor,
    flow_of,
    governor_of,
)
from muniment_plugins.governance.documents.manifest import FlowManifest
from muniment_plugins.governance.documents.policy import GovernancePolicy
from muniment_plugins.governance.flows.agreement import refuse_disagreement
from muniment_plugins.governance.governed import (
    LABEL,
    Governing,
    governing,
)

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = [
    "ADOPTED",
    "Adopted",
    "adopted_by",
    "governing_of",
    "halted_by",
    "labels_of",
    "may_run",
    "start",
]

ADOPTED = "policy.adopted"
HALTED = "budget.exhausted"


def labels_of(run: RunFacts) -> Mapping[str, str]:
    """Return the label of a run that starts: its policy's digest, if it is governed."""
    if (above := governor_of(run)) is not None:
        return {LABEL: above.policy.digest}
    here = governing()
    if here is None or run.origin is not None:
        return {}  # a fork has the labels of its origin
    return {LABEL: here.policy.digest}


def may_run(run: RunFacts, events: tuple[Event, ...], ledger: OpenLedger) -> str | None:
    """Say why a run may not start, resume or fork; None if it may."""
    label = run.labels.get(LABEL, "")
    if not label.startswith("sha256:") or governor_of(run) is not None:
        return None
    adopted = Adopted.of(events or _before(run, ledger), run, ledger)
    if adopted is not None:
        return _may_go_on(run, events, adopted, governing())
    here = _terms(run)
    if here is None:
        return f"it is governed by the policy {label}, which is not given: use --policy"
    return _may_start(here)


def _terms(run: RunFacts) -> Governing | None:
    """Return what governs the runs that start here; a flow has its policy in its params."""
    if (here := governing()) is not None:
        return here
    flow, document = flow_of(run.params, run.id), run.params.get("policy")
    if flow is None or not isinstance(document, dict):
        return None
    policy = GovernancePolicy.from_document(
        cast("JsonValue", document), f"policy of run {run.id}"
    )
    return Governing(policy, flow) if policy.digest == run.labels[LABEL] else None


def _recorded(run: str, ledger: OpenLedger) -> tuple[Event, ...]:
    """Return the events of *run*; a dry run is in no ledger."""
    try:
        return tuple(ledger.events(run=run))
    except UsageError:
        return ()


def _may_go_on(
    run: RunFacts, events: tuple[Event, ...], adopted: Adopted, here: Governing | None
) -> str | None:
    """Say why a run may not resume, or be forked, under what its record adopted."""
    known = adopted.documents
    if here is not None and here.policy.digest != known.policy.digest:
        return (
            f"it is governed by the policy {known.policy.digest}, and another one is "
            f"given, {here.policy.digest}"
        )
    if run.origin is not None and not run.resumed:
        return _may_fork(known)
    if run.resumed and run.root is None and (why := halted_by(events, adopted)):
        return why
    functions_of(known.policy, known.flow)
    return None


def _may_start(here: Governing) -> str | None:
    policy, flow = here.policy, here.flow
    if policy.mode == "unsafe" and os.environ.get("MUNIMENT_STRICT") == "1":
        return "the policy's mode is unsafe, and MUNIMENT_STRICT forbids that"
    if flow is not None:
        try:
            refuse_disagreement(flow, policy)
        except RefusedError as error:
            return f"{error.place}: {error.message}"
    functions_of(policy, flow)
    return None


def _may_fork(known: Governing) -> str | None:
    levels = [known.policy.determinism_level]
    levels += [] if known.flow is None else [known.flow.determinism_level]
    if "strict" in levels:
        return "its level of determinism is strict, and a fork is another run of it"
    return None


def halted_by(events: Iterable[Event], adopted: Adopted) -> str | None:
    """Say why a budget that halted the run stops its resume; None if none does."""
    halted: Event | None = None
    for event in events:
        if event.type == ADOPTED:
            halted = None
        elif event.type == HALTED and event.raw.get("action") == "halt":
            halted = event
    if halted is None:
        return None
    if adopted.amendment is not None:
        return None
    return (
        "its budget halted it, and nobody has amended its policy since: "
        f"`muniment amend {halted.run} POLICY` asks for that"
    )


def _before(run: RunFacts, ledger: OpenLedger) -> tuple[Event, ...]:
    """Return the events of the run that a child, or a fork, takes its policy from."""
    above = run.root or run.origin
    return () if above is None else tuple(ledger.events(run=above))


@dataclass(frozen=True, slots=True)
class Adopted:
    """What a run is governed by, as its record and its amendments say."""

    documents: Governing
    amendment: Event | None = None
    """What amended it, if its record has not adopted that yet."""

    @classmethod
    def of(
        cls, events: Sequence[Event], run: RunFacts, ledger: OpenLedger
    ) -> Self | None:
        """Return what the record *events* adopted last; None if it adopted nothing."""
        found = [one for one in events if one.type == ADOPTED]
        if not found:
            return None
        known = adopted_by(found[-1], ledger, run.params)
        if run.root is not None or not run.resumed:
            return cls(known)
        taken = {str(one.raw.get("amendment")) for one in found}
        amended = amended_by(ledger, events[0], known, taken)
        return cls(known) if amended is None else cls(*amended)


def adopted_by(
    event: Event, ledger: OpenLedger, params: Mapping[str, object]
) -> Governing:
    """Return the documents of a ``policy.adopted``; a flow's manifest is in the params.

    Raises:
        RefusedError: the documents are not those of the digests.

    """
    told = ledger.resolve(event)
    name = str(told["policy"])
    policy = GovernancePolicy.from_document(cast("JsonValue", told["document"]), name)
    flow: FlowManifest | None = None
    if told.get("flow") is not None:
        manifest = told.get("manifest") or params.get("flow")
        place = f"flow of run {event.run}"
        flow = FlowManifest.from_document(cast("JsonValue", manifest), place)
    digests = policy.digest, None if flow is None else flow.digest
    if digests != (told["digest"], told.get("flow")):
        raise RefusedError(
            "a document that the run adopted is not that of its digest",
            rule="policy/digest",
            place=f"run {event.run}, event {event.seq}",
            remedy="`muniment verify` judges the ledger",
        )
    return Governing(policy, flow)


def governing_of(ledger: Ledger, run: str) -> tuple[Event, Governing]:
    """Return the start of *run*, and what it is governed by now.

    Raises:
        UsageError: it is not governed, or was called by another run.

    """
    events = tuple(ledger.events(run=run))
    ref, parent = events[0].data.get("params"), events[0].raw.get("parent")
    params: object = ledger.value(ref) if isinstance(ref, BlobRef) else None
    facts = RunFacts(
        run,
        str(events[0].raw["name"]),
        params=cast("Mapping[str, object]", params or {}),
        resumed=True,
    )
    adopted = None if parent is not None else Adopted.of(events, facts, ledger)
    if adopted is None:
        above = parent["root"] if isinstance(parent, dict) else None
        raise UsageError(
            "the run has no policy of its own",
            rule="policy/none",
            place=f"run {run}",
            remedy=f"name the run that called it, {above}"
            if above
            else "only runs that start with --policy are governed",
        )
    return events[0], adopted.documents


def start(lane: Run, run: RunFacts, ledger: OpenLedger) -> None:
    """Govern the run that starts or resumes, and state its policy if that is new."""
    if not run.labels.get(LABEL, "").startswith("sha256:"):
        return
    if (above := governor_of(run)) is not None:
        above.enter(run.id, run.parent, flow_of(run.params, run.id))
        return
    top = run.root or run.id
    recorded = _recorded(top, ledger)
    adopted = Adopted.of(recorded, run, ledger)
    adopted = adopted or Adopted.of(_before(run, ledger), run, ledger)
    here = _terms(run) if adopted is None else adopted.documents
    if here is None:
        raise AssertionError("before_run lets no governed run start without its policy")
    governor = _governor(lane, here, ledger)
    governor.enter(top, None, here.flow)
    governor.recall(top, recorded)
    governor.resumed(recorded)
    if run.root is not None:
        governor.enter(run.id, run.parent, flow_of(run.params, run.id))
    governor.keep(run)
    amendment = None if adopted is None else adopted.amendment
    if amendment is not None or not any(one.type == ADOPTED for one in recorded):
        _state(lane, governor, here, amendment)


def _governor(lane: Run, here: Governing, ledger: OpenLedger) -> Governor:
    kinds = dict(ledger.effect_kinds)
    functions = functions_of(here.policy, here.flow)
    return Governor(here.policy, lane, ledger, kinds, functions)


def _state(
    lane: Run, governor: Governor, here: Governing, amendment: Event | None
) -> None:
    ledger = governor.ledger
    policy, flow, kinds = here.policy, here.flow, governor.kinds
    lane.record(
        ADOPTED,
        {
            "policy": policy.name,
            "digest": policy.digest,
            "document": dict(policy.document),
            "mode": policy.mode,
            "flow": None if flow is None else flow.digest,
            "kinds": {
                name: {"source": one.source, "magnitude": one.magnitude}
                for name, one in sorted(kinds.items())
            },
            "fallback": {
                name: refer(one) for name, one in functions_of(policy, flow).items()
            },
            "envelope": None if policy.envelope is None else dict(policy.envelope),
            "manifest": dict(flow.document) if amendment and flow else None,
            "amendment": None if amendment is None else amendment.hash,
            "approved": None if amendment is None else answers_to(amendment, ledger),
        },
    )
    if policy.mode == "unsafe" and amendment is None:
        lane.mark(MARK, "the policy's mode is unsafe")
