"""What an observation compares of a policy, member for member; what it cannot, it names.

    covered(policy.document, seen)
    Coverage(compared=["execution_budget.token_limit"],
             missing=[("determinism_level", "the run is of no flow")])

Rules:

- Every member that a policy and a flow can have stands in the table; a test reads their
  shapes.
- A member whose condition the record cannot show, since the run declared nothing or
  reasoned nothing, is missing: nobody can tell whether it was kept to.
- What says only what follows, who decides, or how a replay is judged, asks nothing of what
  happened, and is neither. Of a flow, its budgets, intents, variance and gates are judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from muniment.encoding.canonical import JsonValue

__all__ = ["FLOW_ROWS", "POLICY_ROWS", "Coverage", "OnRecord", "covered", "members_of"]

How: TypeAlias = Literal["spent", "declared", "judged", "aside"]
"""By the budgets' folds; by the manifest of the run; by its engines; not at all."""

_OF_ENTROPY = """
spent    max_magnitude min_magnitude max_count max_weight
aside    exhaustion_action fallback
"""
_OF_EXECUTION = """
spent    step_limit token_limit artifact_limit artifact_step_limit evidence_limit
spent    trace_event_limit effect_limit effect_limits.* cost_limit wall_time_limit
aside    exhaustion_action fallback
"""
_OF_INTENTS = """
spent    source min_entropy_magnitude max_entropy_magnitude
aside    justification
"""
_OF_ENVELOPE = """
aside    min_claim_overlap max_contradiction_delta metric_tolerances.*
"""
_OF_POLICY = """
aside    spec_version policy_id mode approvers.quorum approvers.keys
aside    replay_mode replay_acceptability allow_environment_change failure_mode
spent    weights.low weights.medium weights.high
declared determinism_level
declared nondeterminism.allowed_sources nondeterminism.allowed_intent_sources
declared nondeterminism.min_entropy_magnitude nondeterminism.max_entropy_magnitude
declared nondeterminism.allowed_variance_class nondeterminism.require_justification
judged   verification_level randomness_tolerance required_evidence max_rule_cost
judged   arbitration_policy.rule arbitration_policy.quorum_threshold
judged   fail_on escalate_on engines signers
judged   rules[].rule_id rules[].severity rules[].target rules[].cost rules[].check
judged   rules[].parameters rules[].randomness_requirement
aside    rules[].description rules[].spec_version arbitration_policy.spec_version
"""
_OF_FLOW = """
aside    flow_id tenant_id flow_state determinism_level replay_acceptability agents
aside    dependencies replay_mode allow_deprecated_datasets inputs
aside    dataset.dataset_id dataset.tenant_id dataset.dataset_version
aside    dataset.dataset_hash dataset.dataset_state dataset.storage_uri
aside    retrieval_contracts[] retrieval_contracts[].vector_contract_id
aside    retrieval_contracts[].agents retrieval_contracts[].query
aside    retrieval_contracts[].top_k retrieval_contracts[].scope
aside    parts.* parts.*.agent parts.*.retriever parts.*.reasoner parts.*.prompt
aside    parts.*.model parts.*.flow
spent    allowed_variance_class
judged   verification_gates
"""


def _rows(text: str, below: str = "") -> dict[str, How]:
    found: dict[str, How] = {}
    for line in text.split("\n"):
        how, *names = line.split() or ["aside"]
        found |= {below + name: how for name in names}  # type: ignore[misc]  # as listed
    return found


def _budgets(below: str = "") -> dict[str, How]:
    entropy = f"{below}entropy_budget."
    return {
        **_rows("spent allowed_sources per_source[].source", entropy),
        **_rows(_OF_ENTROPY, entropy),
        **_rows(_OF_ENTROPY, f"{entropy}per_source[]."),
        **_rows(_OF_INTENTS, f"{below}nondeterminism_intent[]."),
    }


POLICY_ROWS: Mapping[str, How] = {
    **_rows(_OF_POLICY),
    **_rows(_OF_EXECUTION, "execution_budget."),
    **_rows(_OF_ENVELOPE, "replay_envelope."),
    **_budgets(),
}
"""Member of a policy → how it is compared."""
FLOW_ROWS: Mapping[str, How] = {
    **_rows(_OF_FLOW),
    **_rows(_OF_EXECUTION, "execution_budget."),
    **_rows(_OF_ENVELOPE, "replay_envelope."),
    **_budgets(),
    **_budgets("parts.*."),
}
"""Member of a flow's manifest → how it is compared."""


@dataclass(frozen=True, slots=True)
class OnRecord:
    """What the record of a run offers to be compared."""

    declares: bool
    """Whether the manifest of a flow is there."""
    reasons: bool
    """Whether there was something to be judged."""
    kinds: frozenset[str]
    """The effect kinds that are declared, or were used."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Which members were compared, and which could not be."""

    compared: tuple[str, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()
    """Member and why."""


def covered(
    documents: Iterable[tuple[str, Mapping[str, JsonValue], Mapping[str, How]]],
    seen: OnRecord,
) -> Coverage:
    """Return what is compared of the *documents*, each with its name and its table."""
    compared: list[str] = []
    missing: list[tuple[str, str]] = []
    for name, document, rows in documents:
        for member, path in members_of(dict(document), rows):
            how = rows.get(path, "")
            why = _why(how, member, path, seen)
            if why:
                missing.append((f"{name}: {member}", why))
            elif how != "aside":
                compared.append(f"{name}: {member}")
    return Coverage(tuple(compared), tuple(missing))


def _why(how: str, member: str, path: str, seen: OnRecord) -> str:
    """Say why a member cannot be compared; nothing if it can be, or asks nothing."""
    if how == "declared" and not seen.declares:
        return "the run is of no flow that declares it"
    if how == "judged" and not seen.reasons:
        return "the record has nothing that is judged"
    if path == "execution_budget.effect_limits.*":
        kind = member.rpartition("effect_limits.")[2]
        if kind not in seen.kinds:
            return f"nothing declares the kind {kind}, and the run has none of it"
    return "" if how else "this version does not compare it"


def members_of(
    value: JsonValue, rows: Iterable[str], at: str = "", path: str = ""
) -> Iterator[tuple[str, str]]:
    """Yield the members that a document says: by its own words, and as a table has them."""
    known = [*rows]
    within = any(one.startswith((f"{path}.", f"{path}[]")) for one in known)
    if isinstance(value, dict) and (within or not path):
        below = f"{path}." if path else ""
        anything = any(one.startswith(f"{below}*") for one in known)
        for name, one in value.items():
            if one is not None:
                key = "*" if anything else name
                here = f"{at}.{name}" if at else name
                yield from members_of(one, known, here, below + key)
    elif isinstance(value, list) and any(one.startswith(f"{path}[]") for one in known):
        for number, one in enumerate(value):
            yield from members_of(one, known, f"{at}[{number}]", f"{path}[]")
    elif path:
        yield at, path
