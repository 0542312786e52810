"""What hosts hand over about another artifact: reviews, decisions, patches, intents.

    artifact_review_decision(patch, "approved")     title "approved Fix the parser"

Rule: the new artifact names the other one in its data and its metadata, and its lineage
is the other one's and then that one itself. Decisions and intents are words of users.
Otherwise they are like the helpers of `host_artifacts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from muniment_plugins.workflow.artifacts.artifact import Artifact
from muniment_plugins.workflow.artifacts.hosting.building import Building
from muniment_plugins.workflow.artifacts.stamps import Stamps

__all__ = [
    "artifact_apply_intent",
    "artifact_diff_review",
    "artifact_patch_proposal",
    "artifact_review_decision",
]

Extra: TypeAlias = Mapping[str, object] | None
Target: TypeAlias = Artifact | Mapping[str, object]


def artifact_diff_review(
    target: Target,
    summary: str | None = None,
    extra: Extra = None,
    *,
    stamps: Stamps | None = None,
) -> Artifact:
    """Return the review of *target*, and what it comes to.

    Raises:
        UsageError: an argument is missing, or not what it should be.

    """
    made = Building("diff_review", extra, stamps)
    about = made.about(target)
    return made.done(f"review {about.name}", summary, metadata={**made.data})


def artifact_review_decision(
    target: Target, decision: str, extra: Extra = None, *, stamps: Stamps | None = None
) -> Artifact:
    """Return the *decision* on *target*, such as ``approved``.

    Raises:
        UsageError: an argument is missing, or not what it should be.

    """
    made = Building("review_decision", extra, stamps)
    about = made.about(target)
    made.words(decision=decision)
    return made.done(f"{decision} {about.name}", decision, metadata={**made.data})


def artifact_patch_proposal(
    target: Target, patch: str, extra: Extra = None, *, stamps: Stamps | None = None
) -> Artifact:
    """Return a *patch* that is proposed for *target*.

    Raises:
        UsageError: an argument is missing, or not what it should be.

    """
    made = Building("patch_proposal", extra, stamps)
    about = made.about(target)
    two = {**made.data}
    made.words(patch=patch)
    return made.done(f"patch for {about.name}", patch, metadata=two)


def artifact_apply_intent(
    target: Target, intent: str, extra: Extra = None, *, stamps: Stamps | None = None
) -> Artifact:
    """Return the *intent* to do something with *target*, such as ``apply``.

    Raises:
        UsageError: an argument is missing, or not what it should be.

    """
    made = Building("apply_intent", extra, stamps)
    about = made.about(target)
    two = {**made.data}
    made.words(intent=intent)
    return made.done(f"{intent} {about.name}", intent, metadata=two)
