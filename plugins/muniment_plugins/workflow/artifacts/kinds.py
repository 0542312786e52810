"""The kinds of artifacts: names, aliases, and how much each weighs where room is short.

    kind_named("test")              "test_result"
    priority_of("test_result")      100
    priority_of("my_own_kind")      40

Rule: a kind that is not in the table is a custom one, any lower-case word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

__all__ = [
    "CUSTOM_PRIORITY",
    "FRESHNESS",
    "HANDOFF",
    "KINDS",
    "KIND_EXAMPLE",
    "KIND_FORM",
    "VERIFICATION_RESULT",
    "ArtifactKind",
    "Freshness",
    "freshness_rank",
    "is_fresh",
    "kind_named",
    "priority_of",
]

Freshness: TypeAlias = Literal["fresh", "live", "recent", "unknown", "stale"]
FRESHNESS: tuple[Freshness, ...] = get_args(Freshness)

KIND_FORM = r"[a-z][a-z0-9_]{0,63}"
KIND_EXAMPLE = "analysis_note: a lower-case word"
CUSTOM_PRIORITY = 40
HANDOFF = "handoff"
VERIFICATION_RESULT = "verification_result"


@dataclass(frozen=True, slots=True)
class ArtifactKind:
    """A kind that the runtime knows."""

    name: str
    priority: int
    aliases: tuple[str, ...] = ()


KINDS = (
    ArtifactKind(VERIFICATION_RESULT, 100, ("verification",)),
    ArtifactKind("test_result", 100, ("test",)),
    ArtifactKind("verification_bundle", 95),
    ArtifactKind(HANDOFF, 92),
    ArtifactKind("diff", 90),
    ArtifactKind("git_diff", 90),
    ArtifactKind("patch", 90),
    ArtifactKind("patch_set", 90),
    ArtifactKind("patch_proposal", 90),
    ArtifactKind("diff_review", 90),
    ArtifactKind("review_decision", 90),
    ArtifactKind("apply_intent", 90),
    ArtifactKind("plan", 80),
    ArtifactKind("workspace_file", 70, ("file",)),
    ArtifactKind("workspace_snapshot", 70),
    ArtifactKind("editor_selection", 70),
    ArtifactKind("resource", 70),
    ArtifactKind("summary", 60),
    ArtifactKind("transcript_summary", 60, ("transcript",)),
    ArtifactKind("command_result", 50),
    ArtifactKind("artifact", CUSTOM_PRIORITY),
    ArtifactKind("provider_payload", CUSTOM_PRIORITY),
    ArtifactKind("worker_result", CUSTOM_PRIORITY),
    ArtifactKind("worker_notification", CUSTOM_PRIORITY),
    ArtifactKind("analysis_note", CUSTOM_PRIORITY),
)
"""In the order of their priority."""

_BY_ALIAS = {alias: one.name for one in KINDS for alias in one.aliases}
_PRIORITIES = {one.name: one.priority for one in KINDS}
_RANKS: dict[str | None, int] = {"fresh": 3, "live": 3, "recent": 2, "stale": 0}


def kind_named(word: str) -> str:
    """Return the kind that *word* names; a custom kind names itself."""
    return _BY_ALIAS.get(word, word)


def priority_of(kind: str) -> int:
    """Return the default priority of *kind*; more comes first."""
    return _PRIORITIES.get(kind, CUSTOM_PRIORITY)


def freshness_rank(freshness: str | None) -> int:
    """Return 3 for fresh and live, 2 for recent, 1 if nothing is known, 0 for stale."""
    return _RANKS.get(freshness, 1)


def is_fresh(freshness: str | None) -> bool:
    """Tell whether *freshness* says that the artifact shows how things are now."""
    return freshness in ("fresh", "live")
