"""Artifacts as requests, outcomes and results hold them: without the time of their making.

    {"id": "act.1#0", "kind": "artifact", "text": "…", "stage": "act"}

Rules:

- When something was made says the event that records it. It is no part of what two runs
  are compared by: equal runs have equal digests, whenever they were run.
- In memory the artifacts of a run have times in the order of their making, counted in
  microseconds from its start; so the recent ones come first where a policy asks for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import cast

from muniment.encoding.canonical import JsonValue, canonical, sha256_tag
from muniment.errors import MunimentError
from muniment.formats.statement import timestamp
from muniment_plugins.workflow.artifacts.artifact import Artifact, read_artifact

__all__ = [
    "ContextDigests",
    "are_rows",
    "content_digest_of",
    "read_rows",
    "result_row_of",
    "row_of",
    "time_of",
]


def row_of(artifact: Artifact) -> dict[str, JsonValue]:
    """Return *artifact* as a record compares it."""
    said = artifact.to_json()
    del said["created_at"]
    return said


def result_row_of(artifact: Artifact) -> dict[str, JsonValue]:
    """Return *artifact* as a result has it: what it was made from is in the record."""
    said = row_of(artifact)
    said.pop("lineage", None)
    return said


def read_rows(rows: JsonValue, created_at: str) -> list[Artifact]:
    """Return the artifacts in *rows*; those without a time get this one."""
    said = cast("Iterable[Mapping[str, JsonValue]]", rows)
    return [read_artifact({"created_at": created_at, **one}) for one in said]


def are_rows(value: object) -> bool:
    """Tell whether *value* has artifacts as a record has them, each of an id of its own."""
    rows = cast("list[object]", value if isinstance(value, list) else [None])
    if not all(isinstance(one, dict) for one in rows):
        return False
    try:
        made = read_rows(cast("JsonValue", value), timestamp(datetime.now(UTC)))
    except MunimentError:
        return False
    return len({one.id for one in made}) == len(made)


def content_digest_of(artifact: Artifact) -> str:
    """Return SHA-256 over all of *artifact* but its time and its lineage."""
    said = row_of(artifact)
    said.pop("lineage", None)
    return sha256_tag(canonical(said))


class ContextDigests:
    """Digests of contexts, in which the digest of each artifact is computed once."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def of(self, artifacts: Iterable[Artifact]) -> str:
        """Return SHA-256 over the ids and digests of *artifacts*, in their order."""
        rows: list[JsonValue] = [[one.id, self.of_one(one)] for one in artifacts]
        return sha256_tag(canonical(rows))

    def of_one(self, artifact: Artifact) -> str:
        """Return the digest of one artifact, by its id."""
        known = self._known.get(artifact.id)
        if known is None:
            known = self._known[artifact.id] = content_digest_of(artifact)
        return known


def time_of(began: datetime, steps: int, number: int = 0) -> str:
    """Return the time of what was made after so many *steps* of a run."""
    return timestamp(began + timedelta(microseconds=steps * 1000 + number))
