"""Amending the policy of a run, by the people whom that policy names.

    amendment of 01JD…   a run of its own: decision.asked, paused, decision.reached
    policy.amended       {"of": "01JD…", "before": "sha256:…", "after": "sha256:…", …}
    policy.adopted       in the run itself, once it is resumed: {"amendment": "9f86…", …}

Rules:

- An amendment is a program that asks people (`Run.decide`) and states what they approved.
  So it waits, is answered, and is verified as every decision is.
- The approvers and the quorum are those of the policy that is amended.
- Budgets, intents and weights can be amended, of the policy and of the flow. All else
  stays: a run is judged by the rules under which it began.
- What was approved is hashed again when a run takes it over: question, answers and
  documents have to fit, and the amendment's own record has to verify.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import TYPE_CHECKING, cast

from muniment import Event, Run
from muniment.encoding.canonical import JsonValue, canonical
from muniment.errors import RefusedError, UsageError, WrongError
from muniment.programs.stable_names import stable_name
from muniment.runs.resume import verified_events
from muniment_plugins.governance.documents.manifest import FlowManifest
from muniment_plugins.governance.documents.policy import GovernancePolicy
from muniment_plugins.governance.governed import Governing

if TYPE_CHECKING:
    from muniment.hookspecs import OpenLedger
    from muniment.ledger import Ledger

__all__ = [
    "AMENDED",
    "AMENDMENT",
    "amend",
    "amended_by",
    "amendment_at",
    "amendment_of",
    "answers_to",
    "proven",
]

Object = Mapping[str, JsonValue]

AMENDED = "policy.amended"
AMENDMENT = "muniment:amendment/1"
_OF_POLICY = frozenset(
    {"entropy_budget", "execution_budget", "nondeterminism_intent", "weights"}
)
_OF_FLOW = frozenset({"entropy_budget", "execution_budget", "nondeterminism_intent"})


@stable_name(AMENDMENT)
def amend(
    run: Run, amendment: Mapping[str, object], quorum: int, keys: list[str]
) -> dict[str, object]:
    """Ask people whether a policy may be amended, and state it if they approve.

    Raises:
        RefusedError: they deny it.

    """
    of = str(amendment["of"])
    why = str(amendment.get("reason") or "")
    prompt = f"amend the policy of run {of}?" + (f" {why}" if why else "")
    decision = run.decide(dict(amendment), prompt, quorum, keys)
    if not decision.approved:
        raise RefusedError(
            "people denied the amendment",
            rule="policy/denied",
            place=f"run {of}",
            remedy="the run stays as it is; ask for another amendment",
        )
    leaf = f"sha256:{amendment['leaf']}"
    run.record(AMENDED, dict(amendment), subject=[("amended", leaf)])
    return {"of": of, "after": amendment["after"]}


def amendment_of(
    started: Event,
    known: Governing,
    policy: GovernancePolicy | None,
    flow: FlowManifest | None,
    reason: str = "",
) -> dict[str, object]:
    """Return the params with which `amend` asks for *policy* and *flow*.

    *started* is the start of the run, *known* what it is governed by now.

    Raises:
        UsageError: they change what an amendment may not, or nothing at all.

    """
    changed = policy or known.policy
    _require_budgets(known.policy.document, changed.document, _OF_POLICY, "policy")
    manifest = None
    if flow is not None:
        before: Object = {} if known.flow is None else known.flow.document
        _require_budgets(before, flow.document, _OF_FLOW, "flow")
        manifest = dict(flow.document)
    if changed.digest == known.policy.digest and (
        flow is None or known.flow is None or flow.digest == known.flow.digest
    ):
        raise UsageError(
            "the amendment changes nothing",
            rule="policy/same",
            place=f"run {started.run}",
            remedy="give a policy, or a flow, with other budgets",
        )
    amendment = {
        "of": started.run,
        "leaf": started.hash,
        "before": known.policy.digest,
        "after": changed.digest,
        "policy": dict(changed.document),
        "flow": manifest,
        "reason": reason,
    }
    approvers = known.policy.approvers
    return {
        "amendment": amendment,
        "quorum": approvers.quorum,
        "keys": list(approvers.keys),
    }


def _require_budgets(
    before: Object, after: Object, allowed: frozenset[str], what: str
) -> None:
    """Refuse changes of anything but budgets, and of what belongs to them."""
    for key in sorted(before.keys() | after.keys()):
        if key not in allowed and before.get(key) != after.get(key):
            raise UsageError(
                f"an amendment changes budgets, and this one changes {key}",
                rule="policy/amendment",
                place=what,
                remedy=f"change {', '.join(sorted(allowed))}; else start a new run",
            )


def amended_by(
    ledger: OpenLedger, started: Event, known: Governing, taken: Container[str]
) -> tuple[Governing, Event] | None:
    """Return what a run is governed by after the last amendment, and that amendment.

    None if nobody amended what it is governed by now, since the amendments *taken*.
    """
    found: tuple[Governing, Event] | None = None
    for event in _amendments(ledger, str(started.run)):
        here = known if found is None else found[0]
        if event.hash in taken:
            continue
        documents = _approved(ledger, started, event, here)
        if documents is not None:
            found = documents, event
    return found


def proven(
    ledger: OpenLedger, started: Event, leaf: object, known: Governing
) -> Governing | None:
    """Return what the amendment with this *leaf* hash made of *known*.

    None if there is no such amendment, or the people of *known* did not approve it.
    """
    for event in _amendments(ledger, str(started.run)):
        if event.hash == leaf:
            return _approved(ledger, started, event, known)
    return None


def amendment_at(ledger: OpenLedger, leaf: str | None) -> Event | None:
    """Return the amendment with this *leaf* hash, if there is one."""
    if leaf is None:
        return None
    return next((one for one in ledger.events(type=AMENDED) if one.hash == leaf), None)


def _amendments(ledger: OpenLedger, run: str) -> Iterator[Event]:
    for event in ledger.events(type=AMENDED):
        if event.raw.get("of") == run and not event.fault:
            yield event


def _approved(
    ledger: OpenLedger, started: Event, event: Event, known: Governing
) -> Governing | None:
    """Return what *event* amends *known* to; None if its people did not approve it.

    What anybody else states amends nothing, and stands in nobody's way.
    """
    told = cast("dict[str, JsonValue]", ledger.resolve(event))
    if event.run is None or told["before"] != known.policy.digest:
        return None
    whole = cast("Ledger", ledger)  # hooks get the open ledger itself
    try:
        record = verified_events(whole, event.run)
    except WrongError:
        return None
    asked = _reached(record, event)
    fits = (
        asked is not None
        and told["leaf"] == started.hash
        and _said(ledger.resolve(asked)["subject"]) == _said(told)
        and asked.raw.get("quorum") == known.policy.approvers.quorum
        and asked.raw.get("of", []) == list(known.policy.approvers.keys)
    )
    if not fits:
        return None
    policy = GovernancePolicy.from_record(told["policy"], known.policy.place)
    if policy.digest != told["after"]:
        return None
    flow = known.flow
    if told.get("flow") is not None and flow is not None:
        flow = FlowManifest.from_record(told["flow"], flow.place)
    return Governing(policy, flow, known.group)


def answers_to(amended: Event, ledger: OpenLedger) -> list[object]:
    """Return the answers that approved the amendment of the event *amended*."""
    reached = ledger.events(run=amended.run, type="decision.reached")
    return [*cast("list[object]", next(iter(reached)).raw["answers"])]


def _said(amendment: object) -> bytes:
    """Return the bytes of what is said; a member that is null says nothing."""
    told = cast("Mapping[str, JsonValue]", amendment)
    return canonical({name: one for name, one in told.items() if one is not None})


def _reached(record: list[Event], amended: Event) -> Event | None:
    """Return the question that was approved before *amended*, in a run that amends."""
    program = record[0].raw.get("program")
    name = program.get("name") if isinstance(program, dict) else None
    done = any(one.type == "run.completed" for one in record)
    reached = [
        one
        for one in record
        if one.type == "decision.reached" and one.seq < amended.seq and not one.scope
    ]
    if name != AMENDMENT or not done or len(reached) != 1:
        return None
    if reached[0].raw.get("outcome") != "approved":
        return None
    leaf = reached[0].raw.get("asked")
    return next((one for one in record if one.hash == leaf), None)
