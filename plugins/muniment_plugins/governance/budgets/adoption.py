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

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from muniment import Event, Run, RunFacts
from muniment.encoding.canonical import JsonValue
from muniment.errors import RefusedError, UsageError
from muniment.formats.lifecycle import MARKED
from muniment.hookspecs import OpenLedger
from muniment.programs.references import refer
from muniment_plugins.governance.budgets.adopted import ADOPTED, Adopted
from muniment_plugins.governance.budgets.amendments import answers_to
from muniment_plugins.governance.budgets.fallbacks import functions_of
from muniment_plugins.governance.budgets.governor import (
    MARK,
    Governor,
    flow_of,
    governor_of,
)
from muniment_plugins.governance.documents.policy import GovernancePolicy
from muniment_plugins.governance.flows.agreement import is_strict, refuse_disagreement
from muniment_plugins.governance.governed import (
    LABEL,
    Governing,
    governing,
)

__all__ = [
    "halted_by",
    "labels_of",
    "may_run",
    "start",
]

HALTED = "budget.exhausted"
UNSAFE = "the policy's mode is unsafe, and MUNIMENT_STRICT forbids that"


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
    if here is None or (run.resumed and here.policy.digest != label):
        return f"it is governed by the policy {label}, which is not given: use --policy"
    return _may_start(here, ledger)


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
    if known.policy.mode == "unsafe" and is_strict():
        return UNSAFE
    if run.origin is not None and not run.resumed:
        return _may_fork(known)
    if run.resumed and run.root is None and (why := halted_by(events, adopted)):
        return why
    functions_of(known.policy, known.flow)
    return None


def _may_start(here: Governing, ledger: OpenLedger) -> str | None:
    policy, flow = here.policy, here.flow
    if policy.mode == "unsafe" and is_strict():
        return UNSAFE
    limited = [policy.execution_budget.effect_limits]
    limited += [] if flow is None else [flow.execution_budget.effect_limits]
    for name in (one for limits in limited for one in limits):
        if name not in ledger.effect_kinds:
            known = difflib.get_close_matches(name, [*ledger.effect_kinds], n=1)
            meant = f"; did you mean {known[0]}?" if known else ""
            return f"effect_limits names the kind {name}, which nothing declares{meant}"
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
    for origin, events in _followed(recorded, ledger):
        governor.enter(origin, top)
        governor.recall(origin, events, events[-1].seq)
    governor.resumed(recorded)
    if run.root is not None:
        governor.enter(run.id, run.parent, flow_of(run.params, run.id))
    governor.keep(run)
    if not run.resumed:
        _inherit_marks(lane, recorded, ledger)
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


def _followed(
    recorded: Sequence[Event], ledger: OpenLedger
) -> Iterator[tuple[str, list[Event]]]:
    """Yield what a fork follows: its origin up to there, what that followed, and so on.

    What was performed there is spent in the fork, too: it is another way on, and no way
    to spend a budget again.
    """
    told = recorded[0].raw.get("fork") if recorded else None
    while isinstance(told, dict):
        run, at = str(told["run"]), cast("int", told["at"])
        events = [one for one in ledger.events(run=run) if one.seq <= at]
        yield run, events
        told = events[0].raw.get("fork") if events else None


def _inherit_marks(lane: Run, recorded: Sequence[Event], ledger: OpenLedger) -> None:
    """Mark a fork as what it follows is marked."""
    for run, events in _followed(recorded, ledger):
        for mark in dict.fromkeys(
            str(one.raw.get("mark")) for one in events if one.type == MARKED
        ):
            lane.mark(mark, f"it follows run {run}, which has this mark")
