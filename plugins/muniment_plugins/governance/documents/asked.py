"""Which engine asks what a policy and a manifest declare; what nobody would ask is refused.

    p.json: rules[0].rule_id: no engine asks k: the engines leave out content [policy/unasked]

Rules:

- Each key about verification has its askers here: none, where the flow itself looks at it
  whatever the engines are, or the engines that are needed for what it says.
- Whatever is declared and would be asked by nobody is a mistake of the document, and is
  refused before anything is run: nothing that is declared is silent.
- A rule that functions check, and the baseline, are asked by ``content`` alone; an engine of
  a plugin asks what it wants, and nothing can be required of it by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias, cast

from muniment.documents.places import At
from muniment.encoding.canonical import JsonValue
from muniment_plugins.governance.documents.policy_verification import BASELINE, COMPUTED

if TYPE_CHECKING:
    from muniment_plugins.governance.documents.manifest import FlowManifest
    from muniment_plugins.governance.documents.policy_verification import (
        VerificationPolicy,
    )

__all__ = ["ASKERS", "engine_of", "refuse_unasked_gates", "refuse_unasked_policy"]

Needed: TypeAlias = "Iterator[tuple[At, str, str]]"
"""Where it is declared, what is asked, and the engine that asks it."""
_ANY = ""
"""Whichever engine there is."""
_ENGINES: Mapping[str, str] = {
    "signed_bundle": "signature",
    "contradiction": "contradiction",
    "weakened_restatement": "contradiction",
    "circular_justification": "contradiction",
}
"""Rule of the box → its engine, of those that `content` does not ask."""
_WITHOUT_BUNDLE = frozenset(
    {
        "artifact_store_integrity",
        "missing_bundle",
        "required_evidence",
        "rule_randomness_exceeds_policy",
        "verification_cost_budget",
    }
)
"""Rules that are asked where nobody reasons, too."""


def engine_of(rule: str) -> str:
    """Return the engine that asks the rule *rule*."""
    return _ENGINES.get(rule, "content")


def _rules(value: JsonValue, at: At) -> Needed:
    for number, one in enumerate(cast("list[Mapping[str, str]]", value)):
        name = one["rule_id"]
        yield at.item(number).key("rule_id"), name, engine_of(name)


def _names(value: JsonValue, at: At) -> Needed:
    for number, name in enumerate(cast("list[str]", value)):
        yield at.item(number), name, engine_of(name)


def _evidence(value: JsonValue, at: At) -> Needed:
    if value:
        yield at, "required_evidence", "content"


def _level(value: JsonValue, at: At) -> Needed:
    if value != "none":
        yield at, f"the level {value}", "content"


def _costs(value: JsonValue, at: At) -> Needed:
    del value
    yield at, "what rules cost", "content"


def _signers(value: JsonValue, at: At) -> Needed:
    if value:
        yield at, "who signed a bundle", "signature"


def _votes(value: JsonValue, at: At) -> Needed:
    del value
    yield at, "for a vote", _ANY


ASKERS: Mapping[str, Callable[[JsonValue, At], Needed] | None] = {
    "rules": _rules,
    "fail_on": _names,
    "escalate_on": _names,
    "required_evidence": _evidence,
    "verification_level": _level,
    "max_rule_cost": _costs,
    "signers": _signers,
    "arbitration_policy": _votes,
    "randomness_tolerance": None,
    "failure_mode": None,
    "engines": None,
}
"""Key of a policy about verification → what it needs to be asked; None if nothing."""


def refuse_unasked_policy(
    document: Mapping[str, JsonValue], policy: VerificationPolicy, place: str
) -> None:
    """Refuse the *document* of a policy that declares what none of its engines asks.

    Raises:
        UsageError: it does; the message names the first such key of the file *place*.

    """
    at = At(place, "policy")
    for name, asks in ASKERS.items():
        value = document.get(name)
        if asks is None or value is None:
            continue
        for there, what, engine in asks(value, at.key(name)):
            _require(policy, there, what, engine)


def refuse_unasked_gates(flow: FlowManifest, policy: VerificationPolicy) -> None:
    """Refuse gates of a flow that no engine of its policy, or no step of it, has asked.

    Raises:
        UsageError: there is one; the message names it.

    """
    gates = At(flow.place, "flow").key("verification_gates")
    reasons = any(part.reasoner is not None for part in flow.parts.values())
    known = policy.rules
    for number, name in enumerate(flow.verification_gates):
        if ":" not in name and name not in {*BASELINE, *COMPUTED, *known}:
            continue  # no rule is called so, which is said when functions are looked for
        at = gates.item(number)
        _require(policy, at, name, engine_of(name))
        own = known.get(name)
        about = "reasoning_bundle" if own is None else own.target
        if about != "reasoning_bundle" or name in _WITHOUT_BUNDLE or reasons:
            continue
        raise at.wrong(
            f"nobody asks {name:.80}: it is about reasoning, and no step reasons",
            "unasked",
            "write a reasoner in parts, or leave it out",
        )


def _require(policy: VerificationPolicy, at: At, what: str, engine: str) -> None:
    engines = policy.engines
    if engine in engines or (engine == _ANY and engines):
        return
    left = f"the engines leave out {engine}" if engine else "there is none"
    raise at.wrong(
        f"no engine asks {what:.80}: {left}",
        "unasked",
        f"add {engine or 'one'} to engines, or leave it out",
    )
