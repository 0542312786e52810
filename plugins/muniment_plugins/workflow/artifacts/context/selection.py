"""Selecting artifacts under a policy, with the reason for each that stays out.

    chosen = artifact_select([code, plan], {"include_kinds": ["plan"], "max_tokens": 1200})
    chosen.selected         (plan,)
    chosen.left_out         (LeftOut("artifact_…", "kind", …),)

Rules, one after the other:

1. Filter. What the policy's kinds or stages do not have in stays out: ``kind``, ``stage``.
2. Order: pinned; prioritised kinds; priority, high first; the freshest first with
   ``prefer_fresh``; the newest first with ``prefer_recent``, by their real times;
   relevance, high first, none last; the shortest first; then as they were given.
3. Fill. At ``max_artifacts`` all the rest stays out: ``count``. Before that, whatever does
   not fit into what is left of the budget is passed over: ``budget``.

**Pinned** means first in line, and nothing else: filter, count and budget hold for pinned
artifacts as for all others, so that a pin never brings in what a policy keeps out. But
each pin that did not come in is named with its reason, and one that names no artifact is
named, too. Heuristics (`adaptive`) do not touch pinned artifacts.

An artifact that is given twice is taken once: ``duplicate``. Two that share an id and
differ are refused, since nobody could tell which one a record means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from muniment.documents.places import At
from muniment_plugins.workflow.artifacts.artifact import Artifact, read_artifact
from muniment_plugins.workflow.artifacts.context.compaction import CutText
from muniment_plugins.workflow.artifacts.context.context_policy import (
    ContextPolicy,
    context_policy,
)
from muniment_plugins.workflow.artifacts.kinds import freshness_rank
from muniment_plugins.workflow.artifacts.stamps import microseconds

__all__ = [
    "ContextSelection",
    "GivenArtifacts",
    "GivenPolicy",
    "LeftOut",
    "Reason",
    "artifact_select",
    "filled",
    "filtered",
    "gathered",
    "place_of",
    "reason_of",
]

Reason: TypeAlias = Literal["kind", "stage", "stale", "duplicate", "count", "budget"]
GivenArtifacts: TypeAlias = Iterable[Artifact | Mapping[str, object]]
GivenPolicy: TypeAlias = ContextPolicy | Mapping[str, object] | None

_OF_ARTIFACTS = At("artifacts", "workflow")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An artifact that is not in the prompt, and why."""

    id: str
    reason: Reason
    tokens: int
    of: str | None = None
    """Of a duplicate: the id of the one that was kept."""


@dataclass(frozen=True, slots=True)
class ContextSelection:
    """Which artifacts come into a prompt, and what became of all others."""

    selected: tuple[Artifact, ...]
    """In order; what is cut is cut here."""
    left_out: tuple[LeftOut, ...]
    """All others, those that lost by count or budget last, in their order."""
    policy: ContextPolicy
    cuts: tuple[CutText, ...] = ()
    """Which of the selected are cut."""
    missing_pins: tuple[str, ...] = ()
    """Pinned ids that no artifact has."""

    @property
    def tokens(self) -> int:
        """How many tokens the selected ones have."""
        return sum(one.estimated_tokens for one in self.selected)

    @property
    def counts(self) -> dict[str, int]:
        """Reason → how many stayed out by it."""
        return dict(sorted(Counter(one.reason for one in self.left_out).items()))


def artifact_select(
    artifacts: GivenArtifacts, policy: GivenPolicy = None
) -> ContextSelection:
    """Return what comes in under *policy*, and why everything else does not.

    Args:
        artifacts: artifacts, or their JSON objects with id and time.
        policy: a context policy; without any, everything comes in, in order.

    Raises:
        UsageError: one of them is none, or two that differ share an id.

    """
    rules = context_policy(policy)
    found, twice = gathered(artifacts)
    kept, out = filtered(found, rules)
    return filled(kept, rules, [*twice, *out], {one.id for one in found})


def gathered(artifacts: GivenArtifacts) -> tuple[list[Artifact], list[LeftOut]]:
    """Return *artifacts*, each once, and those that were there before.

    Raises:
        UsageError: one of them is none, or two that differ share an id.

    """
    given = cast("object", artifacts)
    listed = isinstance(given, Iterable) and not isinstance(
        given, str | bytes | Mapping
    )
    if not listed:
        raise _OF_ARTIFACTS.wrong(
            f"it is a {type(artifacts).__name__}, not a list", "type", "write a list"
        )
    found: dict[str, Artifact] = {}
    twice: list[LeftOut] = []
    for number, raw in enumerate(artifacts):
        there = None if isinstance(raw, Artifact) else _OF_ARTIFACTS.item(number)
        one = read_artifact(raw, there)
        if one.id not in found:
            found[one.id] = one
            continue
        if found[one.id] != one:
            raise _OF_ARTIFACTS.item(number).wrong(
                f"another artifact has the id {one.id}",
                "duplicate",
                "give each artifact an id of its own; artifact_derive does",
            )
        twice.append(LeftOut(one.id, "duplicate", one.estimated_tokens, one.id))
    return [*found.values()], twice


def filtered(
    artifacts: Sequence[Artifact], rules: ContextPolicy
) -> tuple[list[Artifact], list[LeftOut]]:
    """Return what the kinds and stages of *rules* have in, and the others."""
    kept: list[Artifact] = []
    out: list[LeftOut] = []
    for one in artifacts:
        reason = reason_of(one, rules)
        if reason is None:
            kept.append(one)
        else:
            out.append(LeftOut(one.id, reason, one.estimated_tokens))
    return kept, out


def reason_of(one: Artifact, rules: ContextPolicy) -> Reason | None:
    """Return why the kinds or stages of *rules* keep an artifact out; None if they do not."""
    if one.kind in rules.exclude_kinds:
        return "kind"
    if rules.include_kinds and one.kind not in rules.include_kinds:
        return "kind"
    if rules.include_stages and one.stage not in rules.include_stages:
        return "stage"
    return None


def filled(
    candidates: Sequence[Artifact],
    rules: ContextPolicy,
    out: Sequence[LeftOut],
    known: Iterable[str],
    cuts: Mapping[str, CutText] | None = None,
) -> ContextSelection:
    """Return the selection of *candidates*, which the filter let through.

    Args:
        candidates: in the order in which they were given.
        rules: the policy.
        out: what stays out already.
        known: the ids that a pin may name.
        cuts: by id, which of the candidates are cut.

    """
    selected: list[Artifact] = []
    lost: list[LeftOut] = []
    most, left = rules.max_artifacts, rules.budget
    for one in sorted(candidates, key=lambda one: place_of(one, rules)):
        tokens = one.estimated_tokens
        if most is not None and len(selected) >= most:
            lost.append(LeftOut(one.id, "count", tokens))
        elif left is not None and tokens > left:
            lost.append(LeftOut(one.id, "budget", tokens))
        else:
            selected.append(one)
            left = None if left is None else left - tokens
    cut = cuts or {}
    return ContextSelection(
        selected=tuple(selected),
        left_out=(*out, *lost),
        policy=rules,
        cuts=tuple(cut[one.id] for one in selected if one.id in cut),
        missing_pins=tuple(sorted(rules.pinned_ids.difference(known))),
    )


def place_of(one: Artifact, rules: ContextPolicy) -> tuple[float, ...]:
    """Return what an artifact is sorted by; the smallest comes first."""
    return (
        one.id not in rules.pinned_ids,
        one.kind not in rules.prioritize_kinds,
        -one.priority,
        -freshness_rank(one.freshness) if rules.prefer_fresh else 0,
        -microseconds(one.created_at) if rules.prefer_recent else 0,
        one.relevance is None,
        -(one.relevance or 0),
        one.estimated_tokens,
    )
