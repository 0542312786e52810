"""What an agent returned, as the artifacts that it means.

    {"summary": "…"}                                   one artifact, called as the agent
    [{"artifact_id": "draft", "content": {…}}, …]      as many as there are items

Rule: a list means artifacts if every item of it is an object with ``artifact_id`` and
``content`` and no other members than an artifact has; else it is a content itself. A member
that may be left out may be ``None``, which means the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from muniment_plugins.governance.flows.failed import FlowFailed

__all__ = ["GivenArtifact", "given_artifacts"]

_MEMBERS = frozenset({"artifact_id", "artifact_type", "content", "parents", "scope"})
_ALIAS = "parent_artifacts"


@dataclass(frozen=True, slots=True)
class GivenArtifact:
    """An artifact as an agent gave it, before it is checked."""

    artifact_id: str
    content: object
    artifact_type: str
    scope: str
    parents: tuple[str, ...]


def given_artifacts(
    value: object, agent: str, step: str, place: str
) -> list[GivenArtifact]:
    """Return the artifacts in *value*, which *agent* returned in *step*.

    Raises:
        FlowFailed: a member of one has another type than it can have.

    """
    items = _items(value)
    if items and all(map(_is_artifact, items)):
        rows = cast("list[Mapping[str, object]]", items)
        return [
            _given(row, step, f"{place}, artifact {number}")
            for number, row in enumerate(rows)
        ]
    return [GivenArtifact(agent, value, "agent_invocation", "working", (step,))]


def _items(value: object) -> list[object]:
    listed = isinstance(value, list | tuple)
    return [*cast("list[object]", value)] if listed else []


def _is_artifact(item: object) -> bool:
    if not isinstance(item, Mapping):
        return False
    names = cast("Mapping[object, object]", item).keys()
    return {"artifact_id", "content"} <= names <= {*_MEMBERS, _ALIAS}


def _given(given: Mapping[str, object], step: str, place: str) -> GivenArtifact:
    row = {name: one for name, one in given.items() if one is not None}
    parents = row.get("parents", row.get(_ALIAS, (step,)))
    name = row.get("artifact_id")
    if not isinstance(name, str) or not name:
        raise _wrong(f"artifact_id is {name!r:.80}, not a text", place)
    if not isinstance(parents, list | tuple) or not all(
        isinstance(one, str) for one in cast("list[object]", parents)
    ):
        raise _wrong(f"parents is {parents!r:.80}, not a list of ids", place)
    return GivenArtifact(
        artifact_id=name,
        content=given["content"],
        artifact_type=str(row.get("artifact_type", "agent_invocation")),
        scope=str(row.get("scope", "working")),
        parents=tuple(cast("list[str]", parents)) or (step,),
    )


def _wrong(message: str, place: str) -> FlowFailed:
    return FlowFailed(
        message,
        rule="flow/artifact",
        place=place,
        remedy='write {"artifact_id": "…", "content": …, "parents": ["…"]}',
    )
