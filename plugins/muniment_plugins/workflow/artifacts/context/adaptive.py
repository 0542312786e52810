"""Selecting for a stage: without what is outdated or there twice, and with long texts cut.

Rules, between the filter and the order of `selection`:

1. ``stale``: evidence on files that were written since. An artifact that is not fresh is
   left out if one of its ``metadata.evidence_paths`` is among ``metadata.changed_paths``
   of a fresh one that is not older, or if it says itself that it is stale. The fresh one
   counts though the policy may keep it out.
2. ``duplicate``: of equal contents the one with the highest priority stays, of equal
   priorities the first. Only what the policy has in counts, so that no text gets lost.
3. Where there is a budget, a text of more than twice its share of it is cut to its share,
   and says so itself (`compaction`). A share is the budget divided by how many may come
   in, at least 500 tokens, at most the budget.

Pinned artifacts are never stale, never duplicates and never cut.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from muniment_plugins.workflow.artifacts.artifact import Artifact
from muniment_plugins.workflow.artifacts.context.compaction import CutText, cut_text
from muniment_plugins.workflow.artifacts.context.context_policy import (
    ContextPolicy,
    context_policy,
)
from muniment_plugins.workflow.artifacts.context.selection import (
    ContextSelection,
    GivenArtifacts,
    GivenPolicy,
    LeftOut,
    filled,
    filtered,
    gathered,
)
from muniment_plugins.workflow.artifacts.kinds import is_fresh
from muniment_plugins.workflow.artifacts.stamps import microseconds
from muniment_plugins.workflow.artifacts.texts import BYTES_PER_TOKEN, tokens_of

__all__ = [
    "LEAST_SHARE",
    "artifact_select_adaptive",
    "cut_to",
    "paths_of",
    "share_of",
]

LEAST_SHARE = 500
"""Tokens that a text may have at least before it is cut."""


def artifact_select_adaptive(
    artifacts: GivenArtifacts, policy: GivenPolicy = None
) -> ContextSelection:
    """Return what comes into the prompt of a stage, and why everything else does not.

    Raises:
        UsageError: one of them is no artifact, or two that differ share an id.

    """
    rules = context_policy(policy)
    found, out = gathered(artifacts)
    kept, filtered_out = filtered(found, rules)
    kept, stale = _without_stale(kept, found, rules)
    kept, twice = _without_duplicates(kept, rules)
    kept, cuts = _cut(kept, rules)
    out += [*filtered_out, *stale, *twice]
    return filled(kept, rules, out, {one.id for one in found}, cuts)


def _without_stale(
    candidates: Sequence[Artifact], found: Sequence[Artifact], rules: ContextPolicy
) -> tuple[list[Artifact], list[LeftOut]]:
    written: dict[str, int] = {}
    for one in found:
        paths = paths_of(one, "changed_paths") if is_fresh(one.freshness) else ()
        for path in paths:
            time = microseconds(one.created_at)
            written[path] = max(time, written.get(path, time))
    kept: list[Artifact] = []
    out: list[LeftOut] = []
    for one in candidates:
        if one.id not in rules.pinned_ids and _is_stale(one, written):
            out.append(LeftOut(one.id, "stale", one.estimated_tokens))
        else:
            kept.append(one)
    return kept, out


def _is_stale(one: Artifact, written: dict[str, int]) -> bool:
    if is_fresh(one.freshness):
        return False
    times = [
        written[path] for path in paths_of(one, "evidence_paths") if path in written
    ]
    if not times:
        return False
    return one.freshness == "stale" or max(times) >= microseconds(one.created_at)


def paths_of(one: Artifact, key: str) -> list[str]:
    """Return the paths that an artifact names, spelled alike."""
    named = cast("list[str]", one.metadata.get(key) or [])
    return [posixpath.normpath(path) for path in named]


def _without_duplicates(
    candidates: Sequence[Artifact], rules: ContextPolicy
) -> tuple[list[Artifact], list[LeftOut]]:
    first: dict[str, Artifact] = {}
    out: dict[str, LeftOut] = {}
    pinned = rules.pinned_ids
    for one in sorted(
        candidates, key=lambda one: (one.id not in pinned, -one.priority)
    ):
        said = one.content
        counts = said and not rules.keep_duplicates
        other = first.setdefault(said, one) if counts else one
        if other is not one and one.id not in pinned:
            tokens = one.estimated_tokens
            out[one.id] = LeftOut(one.id, "duplicate", tokens, other.id)
    return [one for one in candidates if one.id not in out], [*out.values()]


def _cut(
    candidates: Sequence[Artifact], rules: ContextPolicy
) -> tuple[list[Artifact], dict[str, CutText]]:
    share = share_of(rules, len(candidates))
    cuts: dict[str, CutText] = {}
    if share is None:
        return [*candidates], cuts
    kept: list[Artifact] = []
    for one in candidates:
        cut = None if one.id in rules.pinned_ids else cut_to(one, share)
        if cut is None:
            kept.append(one)
        else:
            kept.append(cut[0])
            cuts[one.id] = cut[1]
    return kept, cuts


def share_of(rules: ContextPolicy, candidates: int) -> int | None:
    """Return the tokens of a share; None if nothing is to be cut.

    Args:
        rules: the policy.
        candidates: how many artifacts are left by filter and heuristics.

    """
    budget, most = rules.budget, rules.max_artifacts
    count = candidates if most is None else min(candidates, most)
    if budget is None or not count:
        return None
    return min(max(budget // count, LEAST_SHARE), budget)


def cut_to(one: Artifact, share: int) -> tuple[Artifact, CutText] | None:
    """Return an artifact cut to *share* tokens; None if it is to stay as it is."""
    if one.estimated_tokens <= 2 * share:
        return None
    cut = cut_text(one.id, one.body, share * BYTES_PER_TOKEN)
    if cut is None:
        return None
    text, said = cut
    return replace(one, text=text, estimated_tokens=tokens_of(text)), said
