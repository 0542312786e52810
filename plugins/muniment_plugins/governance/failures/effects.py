"""From an effect that failed to its reason code.

Rules:

- A budget that halted is what failed, though the effect says so: its fact is the event.
- Of a child run, the failure is what failed in the child.
- Of effects that performers ask, the innermost one failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from muniment import Event
from muniment.encoding.canonical import JsonValue
from muniment.hookspecs import ReadableLedger
from muniment_plugins.governance.authority import own_facts
from muniment_plugins.governance.failures.codes import CODES, ReasonCode
from muniment_plugins.governance.failures.errors import code_of_data, code_of_error
from muniment_plugins.governance.failures.told import (
    Place,
    ToldEffect,
    effects_in,
    inside,
    left_of,
    text_of,
)

__all__ = ["EXHAUSTED", "blamed", "code_of_effect", "halted_by"]

EXHAUSTED = "budget.exhausted"
_PLUGIN = "governance"
_LACKING = ("source",)
"""Limits of what was never allowed, rather than never declared."""


def blamed(events: Sequence[Event], causes: JsonValue) -> ToldEffect | None:
    """Return the effect that the end of a run comes from, if it names one that failed.

    One that halts the run comes first; else it is the first named, or the innermost of
    those that its performer asked.
    """
    effects = effects_in(events)
    named: list[Place] = []
    for one in causes if isinstance(causes, list) else []:
        place = _place(one)
        if place in effects and effects[place].failed and place not in named:
            named.append(place)
    halting = [one for one in named if effects[one].answered_by.get("halts") is True]
    if halting:
        return effects[halting[0]]
    if not named:
        return None
    at = named[0]
    for other in named[1:]:
        if inside(at, effects[at].kind, other):
            at = other
    return effects[at]


def _place(one: JsonValue) -> Place:
    """Return scope and ordinal in a cause; nowhere if it is malformed."""
    if isinstance(one, list) and len(one) == 2:  # noqa: PLR2004 - scope and ordinal
        scope, ordinal = one
        if isinstance(scope, str) and type(ordinal) is int:
            return scope, ordinal
    return "", -1


def halted_by(events: Sequence[Event], before: int | None = None) -> Event | None:
    """Return the last fact that says which budget halted the run.

    What a program says of budgets halts nothing.
    """
    for event in reversed([*own_facts(events)]):
        if before is not None and event.seq > before:
            continue
        if event.type == EXHAUSTED and event.raw.get("action") == "halt":
            return event
    return None


def code_of_effect(
    ledger: ReadableLedger, effect: ToldEffect
) -> tuple[ReasonCode, str | None]:
    """Return the code of an effect that failed, and the rule that it names."""
    outcome = effect.outcome or effect.asked
    name, reason = str(outcome.raw.get("error_type")), outcome.raw.get("reason")
    data, by = left_of(ledger, outcome, "data"), effect.answered_by
    if by.get("who") == "plugin" and by.get("name") == _PLUGIN and reason is None:
        return _of_budget(name, data), None
    by_reason = {
        "cancelled": "effect_cancelled",
        "refused": "effect_refused",
        "unrecordable": "value_unrecordable",
    }
    if isinstance(reason, str) and reason in by_reason:
        return CODES[by_reason[reason]], None
    code, rule = code_of_data(data)
    if code is not None:
        return code, rule
    code, rule = code_of_error(name, text_of(ledger, outcome, "message"))
    if code is not None and name != "EffectFailed":
        return code, rule
    return CODES["provider_failed" if effect.kind == "llm" else "effect_failed"], rule


def _of_budget(name: str, data: object) -> ReasonCode:
    if name != "PolicyViolated":
        return CODES["budget_exhausted"]
    limit = data.get("limit") if isinstance(data, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - whatever it is
    undeclared = limit not in _LACKING
    return CODES["nondeterminism_undeclared" if undeclared else "source_not_allowed"]
