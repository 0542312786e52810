"""The failure of a run, read from its events: class, reason code, and the event.

    failure_of(ledger, list(ledger.events(run=run)))
    → RunFailure(code=CODES["budget_exhausted"], event=41, run="01JD…", rule=None)

Rules:

- Every run that did not complete, and is not under way, has a failure: whatever wrote its
  record, and whatever of it was erased.
- What the record names as the cause comes first: effects, then the rule in the error's
  message, then its name. What no effect and no rule of muniment caused, the program did.
- Nothing is asked but the ledger. Whether the owner of a run without an end is alive is
  for the caller to look at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from muniment import Event
from muniment.encoding.canonical import JsonValue
from muniment.formats.lifecycle import (
    CANCELED,
    COMPLETED,
    FAILED,
    INTERRUPTED,
    LIFE,
    PAUSED,
)
from muniment.hookspecs import OpenLedger
from muniment_plugins.governance.authority import own_facts
from muniment_plugins.governance.failures.codes import CODES, ReasonCode
from muniment_plugins.governance.failures.effects import (
    blamed,
    code_of_effect,
    halted_by,
)
from muniment_plugins.governance.failures.errors import (
    code_of_error,
    code_of_name,
    is_timeout,
)
from muniment_plugins.governance.failures.rules import code_of_rule
from muniment_plugins.governance.failures.told import (
    ToldEffect,
    effects_in,
    left_of,
    members,
    text_of,
)

__all__ = ["RunFailure", "failure_of"]

_DEEPEST = 64
"""How many runs that run call each other are followed; a record can be forged."""


@dataclass(frozen=True, slots=True)
class RunFailure:
    """Why a run has no result."""

    code: ReasonCode
    event: int
    """The position of the event that caused it."""
    run: str
    """The run that has the event: this one, or one that it called."""
    rule: str | None = None
    """The rule of muniment that broke, if the record names one."""

    def to_json(self) -> dict[str, JsonValue]:
        """Return class, code, event, and whether trying again as it is can help."""
        return {
            "class": self.code.failure_class,
            "reason_code": self.code.code,
            "event": self.event,
            "retry": self.code.retry,
        }


def failure_of(
    ledger: OpenLedger, events: Sequence[Event], *, alive: bool | None = False
) -> RunFailure | None:
    """Return the failure of the run with these *events*; None if there is none.

    *alive* says whether the owner of a run without an end is there; None if nobody knows.
    """
    return _failure(ledger, events, alive, 0)


def _failure(
    ledger: OpenLedger, events: Sequence[Event], alive: bool | None, depth: int
) -> RunFailure | None:
    last = next((one for one in reversed(events) if one.type in LIFE), events[0])
    ends: dict[str, Callable[[], RunFailure | None]] = {
        COMPLETED: lambda: _judged(events),
        FAILED: lambda: _failed(ledger, events, last, depth),
        INTERRUPTED: lambda: _interrupted(events, last),
        PAUSED: lambda: _paused(events, last),
        CANCELED: lambda: _at(last, "canceled"),
    }
    if last.type in ends:
        return ends[last.type]()
    if alive:
        return None
    return _at(events[-1], "owner_gone" if alive is False else "owner_unseen")


def _at(event: Event, code: str | ReasonCode, rule: str | None = None) -> RunFailure:
    known = CODES[code] if isinstance(code, str) else code
    return RunFailure(known, event.seq, event.run or "", rule)


def _judged(events: Sequence[Event]) -> RunFailure | None:
    """Return what the run, which is a replay of another one, says of that."""
    codes = {
        "unacceptable": "replay_diverged",
        "non_certifiable": "replay_non_certifiable",
    }
    for event in events:
        verdict = event.raw.get("verdict")
        if event.type == "replay.judged" and isinstance(verdict, str):
            return _at(event, codes[verdict]) if verdict in codes else None
    return None


def _interrupted(events: Sequence[Event], last: Event) -> RunFailure:
    if not members(last, "doubt"):
        return _at(last, "interrupted")
    waiting = [one for one in effects_in(events).values() if one.outcome is None]
    return _at(waiting[-1].asked if waiting else last, "effect_in_doubt")


def _paused(events: Sequence[Event], last: Event) -> RunFailure:
    awaited = last.raw.get("waits_for")
    if not isinstance(awaited, list) or not awaited:
        return _at(last, "paused")
    asked = next((one for one in events if one.hash in awaited), last)
    return _at(asked, "decision_awaited")


# -- a run that failed -----------------------------------------------------------------


def _failed(
    ledger: OpenLedger, events: Sequence[Event], last: Event, depth: int
) -> RunFailure:
    effect = blamed(events, last.raw.get("cause"))
    if effect is not None and effect.outcome is not None:
        return _of_effect(ledger, events, effect, effect.outcome, depth)
    name = str(last.raw.get("error_type"))
    code, rule = code_of_error(name, text_of(ledger, last, "message"))
    status = last.raw.get("status")
    if code is None and status == "refused":
        return _at(last, "refused")
    if code is None and status == "diverged":
        return _at(last, "replay_diverged")
    found = next(_stated(ledger, events, last, code), None)
    if found is not None:
        return found
    if code is None:
        return _at(last, "program_raised")
    return _at(_place_of(events, last, code, name), code, rule)


def _of_effect(
    ledger: OpenLedger,
    events: Sequence[Event],
    effect: ToldEffect,
    outcome: Event,
    depth: int,
) -> RunFailure:
    if effect.kind == "child" and depth < _DEEPEST:
        for child in _children(ledger, effect, outcome):
            found = _failure(ledger, child, False, depth + 1)
            if found is not None:
                return found
    code, rule = code_of_effect(ledger, effect)
    if code.code in _OF_BUDGETS:
        return _at(halted_by(events, outcome.seq) or outcome, code)
    return _at(outcome, code, rule)


_OF_BUDGETS = ("budget_exhausted", "nondeterminism_undeclared", "source_not_allowed")


def _children(
    ledger: OpenLedger, effect: ToldEffect, outcome: Event
) -> Iterator[Sequence[Event]]:
    """Yield the runs that failed as the call *effect* did, while it was under way."""
    run, said = str(outcome.run), text_of(ledger, outcome, "message")
    for child in ledger.children(run):
        events = list(ledger.events(run=child))
        last = events[-1]
        if (
            last.type == FAILED
            and effect.asked.seq < last.seq < outcome.seq
            and last.raw.get("error_type") == outcome.raw.get("error_type")
            and text_of(ledger, last, "message") == said
        ):
            yield events


def _place_of(
    events: Sequence[Event], last: Event, code: ReasonCode, name: str
) -> Event:
    """Return the event behind an error of which only the rule, or the name, is known."""
    if code.code == "fact_refused":
        refused = [one for one in events if one.type == "plugin.refused"]
        return refused[-1] if refused else last
    if code.code == "budget_exhausted":
        return halted_by(events) or last
    if is_timeout(name):
        left = [
            one.outcome
            for one in effects_in(events).values()
            if one.outcome is not None and one.outcome.raw.get("reason") == "cancelled"
        ]
        return left[-1] if left else last
    return last


def _stated(
    ledger: OpenLedger,
    events: Sequence[Event],
    last: Event,
    code: ReasonCode | None,
) -> Iterator[RunFailure]:
    """Yield the facts of the run that say more than the error that ended it."""
    named = None if code is None else code.code
    if named in ("verification_failed", "decision_denied"):
        yield from _verified([*own_facts(events)])
    if named in ("decision_denied", None):
        yield from _denied(events, last, must_be_last=named is None)
    if named == "experiment_incomplete":
        yield from _of_experiment(ledger, events)


def _verified(events: Sequence[Event]) -> Iterator[RunFailure]:
    """Yield the verdict on a step, or on the flow, that failed it."""
    for event in reversed(events):
        if event.type != "verification.arbitrated" or event.raw.get("status") != "fail":
            continue
        if event.raw.get("decided_by") == "people":
            yield from _denied(events, event, must_be_last=False)
            yield _at(event, "decision_denied")
        failing = [
            one
            for one in events
            if one.type == "verification.judged"
            and one.raw.get("target") == event.raw.get("target")
            and one.raw.get("status") == "fail"
        ]
        engines = {str(one.raw.get("engine")) for one in failing}
        alone = engines == {"contradiction"}
        yield _at(event, "contradiction_detected" if alone else "verification_failed")


def _denied(
    events: Sequence[Event], before: Event, *, must_be_last: bool
) -> Iterator[RunFailure]:
    """Yield what people denied *before* an event; nothing may follow if *must_be_last*."""
    for event in reversed(events):
        if event.seq >= before.seq or (event.scope or "").startswith("plugin/"):
            continue
        if event.type == "decision.reached" and event.raw.get("outcome") == "denied":
            yield _at(event, "decision_denied")
            return
        if must_be_last:
            return


def _of_experiment(ledger: OpenLedger, events: Sequence[Event]) -> Iterator[RunFailure]:
    """Yield the first failure of a replicate, or of a verdict, in an experiment.

    A hypothesis that lacks replicates says only that those failed.
    """
    facts = [
        one for one in events if one.type in ("replicate.failed", "hypothesis.unjudged")
    ]
    facts.sort(key=lambda one: one.raw.get("rule") == "harness/replicates")
    for event in facts:
        rule, name = left_of(ledger, event, "rule"), event.raw.get("error_type")
        known = code_of_rule(rule) if isinstance(rule, str) else None
        unjudged = event.type == "hypothesis.unjudged" and known is None
        other = "hypothesis_unjudged" if unjudged else "experiment_incomplete"
        code = known or code_of_name(str(name)) or CODES[other]
        yield _at(event, code, rule if isinstance(rule, str) else None)
