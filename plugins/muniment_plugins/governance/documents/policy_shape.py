"""The shape of a policy: every key that it can have."""

from __future__ import annotations

from muniment.documents.shapes import (
    Anything,
    Choice,
    Flag,
    Items,
    ObjectShape,
    Shaped,
    Text,
    Whole,
)
from muniment_plugins.governance.documents.budgets import (
    ENTROPY_BUDGET,
    ENVELOPE,
    EXECUTION_BUDGET,
    INTENTS,
)
from muniment_plugins.governance.documents.words import (
    ACCEPTABILITIES,
    AGENT_PATH,
    ARBITRATIONS,
    FAILURE_MODES,
    INTENT_SOURCES,
    LEVELS,
    MAGNITUDES,
    MODES,
    RANDOMNESS,
    REPLAY_MODES,
    SEVERITIES,
    SOURCES,
    TARGETS,
    VERIFICATION_LEVELS,
)

__all__ = ["POLICY", "VERIFICATION"]

_VERSION = Choice(("v1",))
_NAMES = Items(Text(), unique=True)
_RULE = ObjectShape(
    {"rule_id": Text()},
    {
        "spec_version": _VERSION,
        "description": Text(),
        "severity": Choice(SEVERITIES),
        "target": Choice(TARGETS),
        "randomness_requirement": Choice(RANDOMNESS),
        "cost": Whole(),
        "check": Text(AGENT_PATH, "module:function"),
        "parameters": Anything(),
    },
)
VERIFICATION: dict[str, Shaped] = {
    "verification_level": Choice(VERIFICATION_LEVELS),
    "failure_mode": Choice(FAILURE_MODES),
    "randomness_tolerance": Choice(RANDOMNESS),
    "arbitration_policy": ObjectShape(
        {"rule": Choice(ARBITRATIONS)},
        {"spec_version": _VERSION, "quorum_threshold": Whole(1)},
    ),
    "required_evidence": _NAMES,
    "max_rule_cost": Whole(),
    "rules": Items(_RULE),
    "fail_on": _NAMES,
    "escalate_on": _NAMES,
    "engines": Items(Text(), unique=True),
    "signers": _NAMES,
}
"""The keys about verification; `documents.asked` says who asks each."""
_NONDETERMINISM = ObjectShape(
    {},
    {
        "allowed_sources": Items(Choice(SOURCES), unique=True),
        "allowed_intent_sources": Items(Choice(INTENT_SOURCES), unique=True),
        "min_entropy_magnitude": Choice(MAGNITUDES),
        "max_entropy_magnitude": Choice(MAGNITUDES),
        "allowed_variance_class": Choice(MAGNITUDES),
        "require_justification": Flag(),
    },
)
POLICY = ObjectShape(
    {"spec_version": _VERSION},
    {
        **VERIFICATION,
        "policy_id": Text(),
        "mode": Choice(MODES),
        "entropy_budget": ENTROPY_BUDGET,
        "execution_budget": EXECUTION_BUDGET,
        "nondeterminism": _NONDETERMINISM,
        "nondeterminism_intent": INTENTS,
        "weights": ObjectShape({}, {name: Whole(1) for name in MAGNITUDES}),
        "approvers": ObjectShape({}, {"quorum": Whole(1), "keys": _NAMES}),
        "determinism_level": Choice(LEVELS),
        "replay_mode": Choice(REPLAY_MODES),
        "replay_acceptability": Choice(ACCEPTABILITIES),
        "replay_envelope": ENVELOPE,
        "allow_environment_change": Flag(),
    },
)
"""A policy's keys."""
