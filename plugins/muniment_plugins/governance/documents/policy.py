"""Policies: what whoever is responsible allows, in a file apart from what is governed.

    policy = load_policy(Path("policy.yaml"))
    policy.digest                   'sha256:…'  of the canonical document
    Policy.DEFAULT                  used, and named, when no policy is given

Rules:

- ``document`` is what was written, without defaults, so that the digest of a policy is
  that of the file which people approved, in whatever format. Its keys have the order that
  a record gives them, so that checks get the same live, resumed and replayed.
- A policy is never made from the flow that it governs.
- What is declared, and none of its engines asks, is refused where a policy is loaded, and
  where a flow is planned under it (`documents.asked`). One that a record has is read as it is.
- A budget, an intent or a level that it does not state is left to the flow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, cast

from muniment.documents.places import At
from muniment.documents.reading import plain_document, read_document
from muniment.encoding.canonical import JsonValue, canonical, sha256_tag
from muniment.encoding.codec import settle
from muniment.events.effect_kinds import Magnitude, Source
from muniment_plugins.governance.documents.asked import refuse_unasked_policy
from muniment_plugins.governance.documents.budgets import (
    EntropyBudget,
    ExecutionBudget,
    Intent,
    ReplayEnvelope,
    entropy_budget,
    execution_budget,
    intents,
    replay_envelope,
    require_order,
)
from muniment_plugins.governance.documents.policy_shape import POLICY
from muniment_plugins.governance.documents.policy_verification import (
    VerificationPolicy,
    verification_policy,
)
from muniment_plugins.governance.documents.signed_policy import is_envelope, unsealed
from muniment_plugins.governance.documents.words import (
    INTENT_SOURCES,
    SOURCES,
    Acceptability,
    IntentSource,
    Level,
    ReplayMode,
)

__all__ = [
    "DEFAULT_NAME",
    "Approvers",
    "GovernancePolicy",
    "NondeterminismRules",
    "load_policy",
]

Object = Mapping[str, JsonValue]

DEFAULT_NAME = "muniment:default/1"
"""The name of the policy that is used when none is given."""
_WEIGHTS: Mapping[Magnitude, int] = MappingProxyType(
    {"low": 1, "medium": 4, "high": 16}
)


@dataclass(frozen=True, slots=True)
class NondeterminismRules:
    """Which uncertainty flows may declare."""

    allowed_sources: tuple[Source, ...]
    allowed_intent_sources: tuple[IntentSource, ...]
    min_entropy_magnitude: Magnitude
    max_entropy_magnitude: Magnitude
    allowed_variance_class: Magnitude | None
    require_justification: bool


@dataclass(frozen=True, slots=True)
class Approvers:
    """Who decides what is escalated, and the amendments of a policy."""

    quorum: int
    keys: tuple[str, ...]
    """Fingerprints; empty for every enrolled approver."""


@dataclass(frozen=True, slots=True)
class GovernancePolicy:
    """A policy without mistakes."""

    DEFAULT: ClassVar[GovernancePolicy]
    """The built-in policy."""

    policy_id: str | None
    mode: str
    """``live``; or ``unsafe``: violations are noted, and the run goes on."""
    verification: VerificationPolicy
    entropy_budget: EntropyBudget | None
    execution_budget: ExecutionBudget
    nondeterminism: NondeterminismRules
    intents: tuple[Intent, ...]
    weights: Mapping[Magnitude, int]
    approvers: Approvers
    determinism_level: Level | None
    replay_mode: ReplayMode | None
    replay_acceptability: Acceptability | None
    replay_envelope: ReplayEnvelope | None
    allow_environment_change: bool
    document: Object = field(repr=False)
    digest: str
    place: str
    """What messages call the document: the path that users gave, or its name."""
    envelope: Mapping[str, JsonValue] | None = field(default=None, repr=False)
    """The DSSE envelope that it came in, if it is signed."""

    @property
    def name(self) -> str:
        """What people call the policy."""
        return self.policy_id or self.place

    @classmethod
    def from_document(cls, value: JsonValue, place: str) -> GovernancePolicy:
        """Return the policy in *value*, which messages call *place*.

        Raises:
            UsageError: it has a mistake; one line, with the key path.

        """
        return cls.from_record(plain_document(value, "policy", place), place)

    @classmethod
    def from_record(cls, value: JsonValue, place: str) -> GovernancePolicy:
        """Return the policy in *value*, which a run has recorded.

        What a record can hold is not limited by what a file may.

        Raises:
            UsageError: it has a mistake; one line, with the key path.

        """
        at = At(place, "policy")
        POLICY.check(value, at)
        return _made(cast("Object", settle(value)), at)


def load_policy(path: Path | str) -> GovernancePolicy:
    """Return the policy in the file *path*: JSON, YAML or TOML.

    Raises:
        UsageError: it cannot be read, has a mistake, or declares what nobody would ask;
            one line, with the key path.

    """
    document: JsonValue = read_document(Path(path), "policy")
    envelope = None
    if is_envelope(document):
        document, envelope = unsealed(document, str(path))
    made = GovernancePolicy.from_document(document, str(path))
    refuse_unasked_policy(made.document, made.verification, made.place)
    return replace(made, envelope=envelope)


def _made(said: Object, at: At) -> GovernancePolicy:
    budget, envelope = said.get("entropy_budget"), said.get("replay_envelope")
    execution = at.key("execution_budget")
    declared = at.key("nondeterminism_intent")
    there = at.key("entropy_budget")
    return GovernancePolicy(
        policy_id=cast("str | None", said.get("policy_id")),
        mode=cast("str", said.get("mode") or "live"),
        verification=verification_policy(said, at),
        entropy_budget=None if budget is None else entropy_budget(budget, there),
        execution_budget=execution_budget(said.get("execution_budget"), execution),
        nondeterminism=_nondeterminism(said, at.key("nondeterminism")),
        intents=intents(said.get("nondeterminism_intent"), declared),
        weights=_weights(said, at.key("weights")),
        approvers=_approvers(said, at.key("approvers")),
        determinism_level=cast("Level | None", said.get("determinism_level")),
        replay_mode=cast("ReplayMode | None", said.get("replay_mode")),
        replay_acceptability=cast(
            "Acceptability | None", said.get("replay_acceptability")
        ),
        replay_envelope=None if envelope is None else replay_envelope(envelope),
        allow_environment_change=bool(said.get("allow_environment_change")),
        document=said,
        digest=sha256_tag(canonical(dict(said))),
        place=at.file,
    )


def _nondeterminism(said: Object, at: At) -> NondeterminismRules:
    row = cast("Object", said.get("nondeterminism") or {})
    least = cast("Magnitude", row.get("min_entropy_magnitude") or "low")
    most = cast("Magnitude", row.get("max_entropy_magnitude") or "high")
    require_order(at, "min_entropy_magnitude", least, most)
    sources = cast("list[Source] | None", row.get("allowed_sources"))
    named = cast("list[IntentSource] | None", row.get("allowed_intent_sources"))
    justified = row.get("require_justification")
    return NondeterminismRules(
        allowed_sources=SOURCES if sources is None else tuple(sources),
        allowed_intent_sources=INTENT_SOURCES if named is None else tuple(named),
        min_entropy_magnitude=least,
        max_entropy_magnitude=most,
        allowed_variance_class=cast(
            "Magnitude | None", row.get("allowed_variance_class")
        ),
        require_justification=justified is not False,
    )


def _weights(said: Object, at: At) -> Mapping[Magnitude, int]:
    row = cast("Mapping[Magnitude, int | None]", said.get("weights") or {})
    given: dict[Magnitude, int] = {
        name: one for name, one in row.items() if one is not None
    }
    weights: dict[Magnitude, int] = {**_WEIGHTS, **given}
    if not weights["low"] <= weights["medium"] <= weights["high"]:
        raise at.wrong(
            "a smaller magnitude weighs more", "order", "low ≤ medium ≤ high"
        )
    return MappingProxyType(weights)


def _approvers(said: Object, at: At) -> Approvers:
    row = cast("Object", said.get("approvers") or {})
    quorum = cast("int", row.get("quorum") or 1)
    keys = tuple(cast("list[str]", row.get("keys") or []))
    if keys and quorum > len(keys):
        raise at.key("quorum").wrong(
            f"{quorum} of {len(keys)} people can never agree",
            "quorum",
            "lower it, or name more keys",
        )
    return Approvers(quorum, keys)


GovernancePolicy.DEFAULT = GovernancePolicy.from_document(
    {"spec_version": "v1", "policy_id": DEFAULT_NAME}, DEFAULT_NAME
)
