"""Deriving an artifact from another one, whose id its lineage ends with.

    plan = artifact_derive(code, "plan", {"text": "Update the wording."})
    plan.lineage            (*code.lineage, code.id)
    plan.priority           80: that of a plan

Rules:

- Each call makes another id and a time of its own. Tokens are those of the new body, and
  the priority is that of the new kind, unless they are given.
- Title, text, source, freshness, relevance, stage and metadata are the parent's unless
  they are given. Data are not: they describe what the parent is.
- ``lineage`` names further ancestors, after the parent; ``metadata`` goes over the
  parent's, member by member. Nothing takes the parent out of the lineage.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from muniment.documents.places import At
from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.artifacts.artifact import (
    Artifact,
    artifact,
    read_artifact,
)
from muniment_plugins.workflow.artifacts.artifact_shape import EXTRA, KIND
from muniment_plugins.workflow.artifacts.plain_json import plain_object
from muniment_plugins.workflow.artifacts.stamps import Stamps

__all__ = ["artifact_derive"]

Object = dict[str, JsonValue]
_INHERITED = ("title", "text", "source", "freshness", "relevance", "stage", "metadata")


def artifact_derive(
    parent: Artifact | Mapping[str, object],
    kind: str,
    extra: Mapping[str, object] | None = None,
    *,
    stamps: Stamps | None = None,
) -> Artifact:
    """Return a new artifact of *kind* that is made from *parent*.

    Args:
        parent: an artifact, or its JSON object.
        kind: a known kind, an alias, or any lower-case word.
        extra: fields of the new artifact: all but its kind.
        stamps: what makes id and time.

    Raises:
        UsageError: an argument is not what it should be; with its place.

    """
    at = At("artifact_derive", "workflow")
    origin = read_artifact(parent, at.key("parent"))
    KIND.check(kind, at.key("kind"))
    told = plain_object({} if extra is None else extra, at.key("extra"))
    EXTRA.check(told, at.key("extra"))
    whole = origin.to_json()
    raw: Object = {name: whole[name] for name in _INHERITED if name in whole}
    raw |= told | {"kind": kind}
    raw["lineage"] = [
        *origin.lineage,
        origin.id,
        *cast("list[JsonValue]", told.get("lineage", [])),
    ]
    raw["metadata"] = {
        **cast("Object", whole.get("metadata", {})),
        **cast("Object", told.get("metadata", {})),
    }
    return artifact(raw, stamps=stamps, at=at)
