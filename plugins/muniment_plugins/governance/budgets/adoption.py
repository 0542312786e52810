"""How a run comes by its governor: from where it starts, or from its record.

    run.started      {"labels": {"policy": "sha256:…"}, …}
    policy.adopted   {"policy": "triage", "digest": "sha256:…", "document": {…}, …}

Rules:

- A run that starts is governed by the policy of its context (`governed`), a child by that
  of the run which calls it, a fork by its origin's, and a resumed run by the last one that
  its record adopted. None of them is governed by less than before.
- A resume or a fork under another policy, or another flow, is refused; so is one under any
  policy of a run that began without: what it did until then was held to nothing. So is a
  resume of a run that its budget halted: it goes on after an amendment of its policy,
  signed by people.
- What a policy forbids is refused before anything is written: a flow that declares more
  than it may, a fork of what is strict, a fallback that cannot be found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from muniment import Event, Run, RunFacts
from muniment.encoding.canonical import JsonValue
from muniment.errors import MunimentError, RefusedError, UsageError
from muniment.formats.lifecycle import MARKED
from muniment.hookspecs import OpenLedger
from muniment.programs.references import refer
from muniment_plugins.governance.authority import own_facts
from muniment_plugins.governance.budgets.accounts import RunAccounts
from muniment_plugins.governance.budgets.adopted import ADOPTED, LANE, Adopted
from muniment_plugins.governance.budgets.amendments import amendment_at, answers_to
from muniment_plugins.governance.budgets.governor import (
    MARK,
    Governor,
    flow_of,
    governor_of,
)
from muniment_plugins.governance.budgets.siblings import siblings_of
from muniment_plugins.governance.documents.policy import GovernancePolicy
from muniment_plugins.governance.flows.agreement import is_strict, refuse_disagreement
from muniment_plugins.governance.flows.existence import functions_of, require_named
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
    "take_in_earlier",
]

HALTED = "budget.exhausted"
UNSAFE = "the policy's mode is unsafe, and MUNIMENT_STRICT forbids that"


def labels_of(run: RunFacts, ledger: OpenLedger) -> Mapping[str, str]:
    """Return the label of a run that starts: its policy's digest, if it is governed."""
    if (above := governor_of(run)) is not None:
        return {LABEL: above.policy.digest}
    here = governing(ledger)
    if here is None or run.origin is not None:
        return {}  # a fork has the labels of its origin
    return {LABEL: here.policy.digest}


def may_run(
    run: RunFacts, events: tuple[Event, ...], ledger: OpenLedger
) -> str | MunimentError | None:
    """Say why a run may not start, resume or fork; None if it may."""
    label = run.labels.get(LABEL, "")
    if governor_of(run) is not None:
        return None
    if not label.startswith("sha256:"):
        return _may_stay_ungoverned(run, governing(ledger))
    adopted = Adopted.of(events or _before(run, ledger), run, ledger)
    if adopted is not None:
        return _may_go_on(run, events, adopted, ledger)
    here = _terms(run, ledger)
    if here is None or here.policy.digest != label:
        return f"it is governed by the policy {label}, which is not given: use --policy"
    return _may_start(here, ledger)


def _may_stay_ungoverned(run: RunFacts, here: Governing | None) -> str | None:
    """Say why a run without a policy may not go on, or be forked, under one."""
    if here is None or not (run.resumed or run.origin is not None):
        return None
    begun = run.id if run.origin is None else run.origin
    return (
        f"the run {begun} began without a policy, and a policy is adopted at the start: "
        "leave --policy out, or start a new run under it"
    )


def _terms(run: RunFacts, ledger: OpenLedger) -> Governing | None:
    """Return what governs the runs that start here; a flow has its policy in its params."""
    if (here := governing(ledger)) is not None:
        return here
    flow, document = flow_of(run.params, run.id), run.params.get("policy")
    if flow is None or not isinstance(document, dict):
        return None
    policy = GovernancePolicy.from_record(
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
    run: RunFacts, events: tuple[Event, ...], adopted: Adopted, ledger: OpenLedger
) -> str | MunimentError | None:
    """Say why a run may not resume, or be forked, under what its record adopted."""
    known, here = adopted.documents, governing(ledger)
    if here is not None and here.policy.digest != known.policy.digest:
        return (
            f"it is governed by the policy {known.policy.digest}, and another one is "
            f"given, {here.policy.digest}"
        )
    flow = None if here is None else here.flow
    if flow is not None and (known.flow is None or flow.digest != known.flow.digest):
        of = "no flow" if known.flow is None else f"the flow {known.flow.digest}"
        return f"it is one of {of}, and another is given, {flow.digest}"
    if known.policy.mode == "unsafe" and is_strict():
        return UNSAFE
    if run.origin is not None and not run.resumed:
        return _may_fork(known) or _halted_before(run, adopted, ledger)
    if run.resumed and run.root is None and (why := halted_by(events, adopted)):
        return why
    return _missing(lambda: functions_of(known.policy, known.flow))


def _may_start(here: Governing, ledger: OpenLedger) -> str | MunimentError | None:
    policy, flow = here.policy, here.flow
    if policy.mode == "unsafe" and is_strict():
        return UNSAFE
    if flow is not None:
        try:
            refuse_disagreement(flow, policy)
        except RefusedError as error:
            return f"{error.place}: {error.message}"
    return _missing(lambda: require_named(policy, flow, ledger.effect_kinds))


def _missing(look: Callable[[], object]) -> MunimentError | None:
    """Return the error with which *look* says that something is not there."""
    try:
        look()
    except MunimentError as error:
        return error
    return None


def _may_fork(known: Governing) -> str | None:
    levels = [known.policy.determinism_level]
    levels += [] if known.flow is None else [known.flow.determinism_level]
    if "strict" in levels:
        return "its level of determinism is strict, and a fork is another run of it"
    return None


def _halted_before(run: RunFacts, adopted: Adopted, ledger: OpenLedger) -> str | None:
    """Say why nobody goes on from where a budget had halted the run that a fork follows."""
    at = run.at or 0
    before = (one for one in ledger.events(run=run.origin) if one.seq <= at)
    halted = _halt_in(before)
    if halted is None or adopted.amendment is not None:
        return None
    return (
        f"its budget halted the run {run.origin} at event {halted.seq}, and a fork at "
        f"{at} follows that: fork at an event before it, or `muniment amend {halted.run} "
        "POLICY` and resume it first"
    )


def halted_by(events: Iterable[Event], adopted: Adopted) -> str | None:
    """Say why a budget that halted the run stops its resume; None if none does."""
    halted = _halt_in(events)
    if halted is None or adopted.amendment is not None:
        return None
    return (
        "its budget halted it, and nobody has amended its policy since: "
        f"`muniment amend {halted.run} POLICY` asks for that"
    )


def _halt_in(events: Iterable[Event]) -> Event | None:
    """Return what says that a budget halted the run of *events*, if nothing lifted that."""
    halted: Event | None = None
    for event in own_facts(events):
        if event.type == ADOPTED:
            halted = None
        elif event.type == HALTED and event.raw.get("action") == "halt":
            halted = event
    return halted


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
    here = _terms(run, ledger) if adopted is None else adopted.documents
    if here is None:
        raise AssertionError("before_run lets no governed run start without its policy")
    if run.origin is not None and not run.resumed:
        among = governing(ledger)  # a fork is of the command that makes it
        here = replace(here, group=None if among is None else among.group)
    governor = _governor(lane, here, ledger)
    governor.enter(top, None, here.flow)
    governor.recall(top, recorded)
    take_in_earlier(governor.accounts, recorded, ledger, here.group)
    governor.resumed(recorded)
    if run.root is not None:
        governor.enter(run.id, run.parent, flow_of(run.params, run.id))
    governor.keep(run)
    if not run.resumed:
        _inherit_marks(lane, recorded, ledger)
    amendment = None if adopted is None else adopted.amendment
    if adopted is not None and amendment is None and not run.resumed:
        amendment = amendment_at(ledger, adopted.carried)  # that of a fork's origin
    if amendment is not None or not any(one.type == ADOPTED for one in recorded):
        _state(lane, governor, here, amendment)


def _governor(lane: Run, here: Governing, ledger: OpenLedger) -> Governor:
    kinds = dict(ledger.effect_kinds)
    functions = functions_of(here.policy, here.flow)
    return Governor(here.policy, lane, ledger, kinds, functions, here.group)


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
            "group": here.group,
            "envelope": None if policy.envelope is None else dict(policy.envelope),
            "manifest": dict(flow.document) if amendment and flow else None,
            "amendment": None if amendment is None else amendment.hash,
            "approved": None if amendment is None else answers_to(amendment, ledger),
        },
    )
    if policy.mode == "unsafe" and amendment is None:
        lane.mark(MARK, "the policy's mode is unsafe")


def take_in_earlier(
    accounts: RunAccounts,
    recorded: Sequence[Event],
    ledger: OpenLedger,
    group: str | None,
) -> None:
    """Count what was spent before a fork: by what it follows, and beside that.

    What was spent beside an origin is what the runs spent that shared its policy's budget.
    Runs of the fork's own *group* are counted as such, for the policy.
    """
    top = str(recorded[0].run) if recorded else ""
    known = {top, *siblings_of(ledger, group, top)}
    for run, events in followed(recorded, ledger):
        stated = [one for one in events if one.type == ADOPTED and one.scope == LANE]
        shared = str(stated[0].raw["group"]) if _has_group(stated) else None
        at = events[-1].seq
        accounts.follow(run, top, counted=run in known)
        accounts.recall(run, events, ledger, at)
        known.add(run)
        for one in siblings_of(ledger, shared, run):
            if one in known:
                continue
            known.add(one)
            past = [each for each in ledger.events(run=one) if each.seq <= at]
            if past:
                accounts.recall(one, past, ledger, at)


def _has_group(stated: Sequence[Event]) -> bool:
    return bool(stated) and stated[0].raw.get("group") is not None


def followed(
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
    for run, events in followed(recorded, ledger):
        for mark in dict.fromkeys(
            str(one.raw.get("mark")) for one in events if one.type == MARKED
        ):
            lane.mark(mark, f"it follows run {run}, which has this mark")
