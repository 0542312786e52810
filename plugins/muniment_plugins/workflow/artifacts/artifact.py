"""Artifacts: typed pieces of context, with where they come from and what they weigh.

    code = artifact({"kind": "resource", "title": "Selected code", "text": "fn main()",
                     "source": "workspace", "relevance": 0.95})
    code.priority, code.estimated_tokens        (70, 3)
    artifact(code.to_json()) == code            True

Rules:

- A key that is null is absent; unknown keys are refused. Aliases of kinds are resolved.
- Priority comes from the kind and tokens from the body, unless they are given. Both are
  written into the JSON object, so that a record keeps its weight if a table changes.
- The body is what a prompt shows: the text, else the data as JSON (RFC 8785).
- An artifact does not come from itself; a lineage names each ancestor once.
- ``metadata.evidence_paths`` and ``metadata.changed_paths`` are lists of paths, by which
  a selection tells what evidence is outdated. All else in there belongs to users.
- A handoff has the data of one.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, cast

from muniment.documents.places import At
from muniment.encoding.canonical import JsonValue, canonical, sha256_tag
from muniment.formats.statement import timestamp
from muniment_plugins.workflow.artifacts.artifact_shape import (
    ARTIFACT,
    ID,
    PATH_KEYS,
    PATHS,
)
from muniment_plugins.workflow.artifacts.handoffs import handoff_data
from muniment_plugins.workflow.artifacts.kinds import (
    HANDOFF,
    kind_named,
    priority_of,
)
from muniment_plugins.workflow.artifacts.plain_json import json_text, plain_object
from muniment_plugins.workflow.artifacts.stamps import Stamps, in_utc, stamps_here
from muniment_plugins.workflow.artifacts.texts import tokens_of

__all__ = ["Artifact", "artifact", "read_artifact", "weight_of"]

Object = dict[str, JsonValue]
_HERE = At("artifact", "workflow")
_UNCHANGING = (str, int, float)


@dataclass(frozen=True, slots=True)
class Artifact:
    """One piece of context. Made by `artifact`, which checks what is in it."""

    id: str
    kind: str
    created_at: str
    """RFC 3339 in UTC with six decimals."""
    priority: int
    """More comes first."""
    estimated_tokens: int
    """What its body weighs, or more if whoever made it says so: never less."""
    title: str | None = None
    text: str | None = None
    data: JsonValue = None
    source: str | None = None
    """Where it was taken from, such as ``workspace``."""
    freshness: str | None = None
    """``fresh``, ``live``, ``recent`` or ``stale``; None if nothing is known."""
    lineage: tuple[str, ...] = ()
    """The ids of what it was made from, the oldest first."""
    relevance: float | None = None
    """From 0; more is more relevant."""
    stage: str | None = None
    """The node that made it."""
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])

    @property
    def body(self) -> str:
        """What a prompt shows: the text, else the data as JSON; empty if neither is."""
        return _body(self.text, self.data)

    @property
    def content(self) -> str:
        """All that it says: the body, and the data that a text leaves out of it."""
        if self.text is None or self.data is None:
            return self.body
        return f"{self.text}\0{json_text(self.data)}"

    @property
    def digest(self) -> str:
        """``sha256:…`` of the canonical JSON object."""
        return sha256_tag(canonical(self.to_json()))

    @property
    def name(self) -> str:
        """What people call it: the title, else the id."""
        return self.title or self.id

    def to_json(self) -> Object:
        """Return the JSON object, a copy, without keys that say nothing."""
        found: Object = {}
        for name in _FIELDS:
            value = getattr(self, name)
            if value is None or (value in ((), {}) and name != "data"):
                continue
            found[name] = _copied(value)
        return found


_FIELDS = tuple(one.name for one in fields(Artifact))


def _copied(value: Any) -> JsonValue:
    """Return a copy of the value of a field, in which nothing is shared that changes."""
    if isinstance(value, _UNCHANGING):
        return value
    return copy.deepcopy([*value] if isinstance(value, tuple) else value)


def artifact(
    raw: object, *, stamps: Stamps | None = None, at: At | None = None
) -> Artifact:
    """Return the artifact that *raw* describes, in its normal form.

    Args:
        raw: an `Artifact`, or an object with its fields; ``_type: "artifact"`` may be
            there. What is missing is made: id, time, kind ``artifact``, priority, tokens.
        stamps: what makes ids and times; by default the run's, or the machine's.
        at: the place that errors name.

    Raises:
        UsageError: a key is unknown, or a value is not what it should be.

    """
    if isinstance(raw, Artifact):
        raw = raw.to_json()
    return _made(_checked(raw, at or _HERE), stamps, at or _HERE)


def read_artifact(raw: object, at: At | None = None) -> Artifact:
    """Return the artifact that *raw* is, an `Artifact` or its JSON object.

    Nothing is drawn: an object without id or time is refused.

    Raises:
        UsageError: it is no artifact.

    """
    if isinstance(raw, Artifact):
        return raw
    there = at or _HERE
    said = _checked(raw, there)
    for name in ("id", "created_at"):
        if name not in said:
            raise there.key(name).wrong(
                "it is missing", "missing-key", "make artifacts with artifact(…) first"
            )
    return _made(said, None, there)


def _checked(raw: object, at: At) -> Object:
    """Return *raw* as plain JSON with the keys and types of an artifact."""
    said = plain_object(raw, at)
    ARTIFACT.check(said, at)
    said.pop("_type", None)
    return said


def _made(said: Object, stamps: Stamps | None, at: At) -> Artifact:
    """Return the artifact of the checked object *said*."""
    if stamps is None and not {"id", "created_at"} <= said.keys():
        stamps = stamps_here()
    kind = kind_named(cast("str", said.get("kind", "artifact")))
    made_id = _id(said, stamps, at.key("id"))
    text, data = cast("str | None", said.get("text")), said.get("data")
    if kind == HANDOFF:
        data = handoff_data({} if data is None else data, at.key("data"))
    metadata = cast("Object", said.get("metadata", {}))
    PATHS.check({key: metadata.get(key) for key in PATH_KEYS}, at.key("metadata"))
    freshness, relevance = said.get("freshness"), said.get("relevance")
    return Artifact(
        id=made_id,
        kind=kind,
        created_at=_time(said, stamps, at.key("created_at")),
        priority=cast("int", said.get("priority", priority_of(kind))),
        estimated_tokens=max(
            weight_of(text, data), cast("int", said.get("estimated_tokens", 0))
        ),
        title=cast("str | None", said.get("title")),
        text=text,
        data=data,
        source=cast("str | None", said.get("source")),
        freshness=None if freshness == "unknown" else cast("str | None", freshness),
        lineage=_lineage(said, made_id, at.key("lineage")),
        relevance=None if relevance is None else float(cast("float", relevance)),
        stage=cast("str | None", said.get("stage")),
        metadata=metadata,
    )


def weight_of(text: str | None, data: JsonValue) -> int:
    """Return how many tokens the body of an artifact with *text* and *data* is taken for."""
    return tokens_of(_body(text, data))


def _body(text: str | None, data: JsonValue) -> str:
    if text is not None:
        return text
    return "" if data is None else json_text(data)


def _id(said: Object, stamps: Stamps | None, at: At) -> str:
    if "id" in said:
        return cast("str", said["id"])
    made = cast("Stamps", stamps).new_id()
    ID.check(made, at)
    return made


def _time(said: Object, stamps: Stamps | None, at: At) -> str:
    if "created_at" in said:
        return in_utc(cast("str", said["created_at"]), at)
    return timestamp(cast("Stamps", stamps).now())


def _lineage(said: Object, own: str, at: At) -> tuple[str, ...]:
    """Return the ancestors, each once, the first mention first."""
    ancestors = tuple(dict.fromkeys(cast("list[str]", said.get("lineage", []))))
    if own in ancestors:
        raise at.wrong(
            f"{own} is made from itself",
            "lineage",
            "give it another id, or leave it out",
        )
    return ancestors
