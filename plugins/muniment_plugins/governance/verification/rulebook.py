"""The rules under which a flow is judged: its policy's, and the gates of the flow.

    "rules": [{"rule_id": "no_guesses", "check": "checks:no_guesses", "cost": 3,
               "severity": "warning", "target": "artifact"}],
    "verification_gates": ["claim_requires_evidence", "checks:is_polite"]

Rules:

- A violation of severity *error* fails, a lesser one is noted; ``fail_on`` and
  ``escalate_on`` say otherwise by rule. A gate of the flow always fails.
- A check is ``check(subject)`` or ``check(subject, parameters)``; it returns what is
  wrong, as a text or a list of texts, or ``False``; ``None``, ``True`` and an empty list
  mean that the rule holds.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from muniment.programs.references import Function, plain
from muniment_plugins.governance.documents.policy_verification import (
    BASELINE,
    COMPUTED,
    RuleSpec,
    VerificationPolicy,
)
from muniment_plugins.governance.documents.words import RANDOMNESS, rank
from muniment_plugins.governance.verification.subjects import (
    VerificationSubject,
    Violation,
)

__all__ = ["Rulebook", "asked", "boxed_rule"]


def boxed_rule(name: str) -> RuleSpec:
    """Return the declaration of a rule in the box, as the box has it."""
    return RuleSpec(
        rule_id=name,
        description=BASELINE.get(name) or COMPUTED.get(name) or name,
        severity="error",
        target="reasoning_bundle",
        randomness_requirement="deterministic",
        cost=1,
        check=None if name in BASELINE or name in COMPUTED else name,
        parameters=None,
    )


@dataclass(frozen=True, slots=True)
class Rulebook:
    """A policy's rules and a flow's gates, with the functions that check them."""

    policy: VerificationPolicy
    gates: tuple[str, ...] = ()
    """Rules that have to hold, or functions that are such rules."""
    checks: Mapping[str, Function] = field(default_factory=dict[str, Function])
    """Rule → the function that checks it."""
    engines: Mapping[str, Function] = field(default_factory=dict[str, Function])
    """Name → engine, of those that plugins offer."""

    def rule(self, name: str) -> RuleSpec:
        """Return the declaration of the rule *name*."""
        return self.policy.rules.get(name) or boxed_rule(name)

    def own_rules(self) -> list[RuleSpec]:
        """Return the rules that functions check, gates among them, in their order."""
        declared = [one for one in self.policy.rules.values() if one.check is not None]
        known = {one.rule_id for one in declared}
        gates = [boxed_rule(one) for one in self.gates if one not in known]
        return [*declared, *(one for one in gates if one.check is not None)]

    def wants(self, name: str) -> bool:
        """Tell whether policy or flow name the rule *name*."""
        policy = self.policy
        return (
            name in policy.rules
            or name in policy.fail_on
            or name in policy.escalate_on
            or name in self.gates
        )

    def violation(self, name: str, detail: str, severity: str = "") -> Violation:
        """Return the violation of a rule, with what follows from it."""
        found = severity or self.rule(name).severity
        if name in self.policy.escalate_on:
            status = "escalate"
        elif name in self.gates or name in self.policy.fail_on or found == "error":
            status = "fail"
        else:
            status = "noted"
        return Violation(name, found, status, detail)

    def tolerates(self, rule: RuleSpec) -> bool:
        """Tell whether the randomness that a rule needs is tolerated."""
        return rank(rule.randomness_requirement, RANDOMNESS) <= rank(
            self.policy.randomness_tolerance, RANDOMNESS
        )


def asked(
    function: Function, subject: VerificationSubject, rule: RuleSpec
) -> list[str]:
    """Return what a policy's check says is wrong."""
    check = plain(function)
    given = (
        check(subject.document(), rule.parameters)
        if _takes_parameters(check)
        else check(subject.document())
    )
    if given is None or given is True:
        return []
    if given is False:
        return [rule.description]
    if isinstance(given, str):
        return [given] if given else []
    return [str(one) for one in cast("Sequence[object]", given)]


def _takes_parameters(check: Callable[..., object]) -> bool:
    try:
        taken = inspect.signature(check).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    )
    return sum(one.kind in positional for one in taken) > 1
