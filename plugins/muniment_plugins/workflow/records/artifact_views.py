"""The artifacts of a record: those that a run was given, and those that it made.

Rule: an artifact that states no lineage was made from what its stage worked on, which the
stage states once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muniment_plugins.workflow.artifacts.artifact import Artifact, read_artifact
from muniment_plugins.workflow.records.contents import Contents, is_erased
from muniment_plugins.workflow.records.rows import Row

__all__ = ["artifacts_of", "is_withheld", "typed_artifact"]

_EMPTY: tuple[object, ...] = (None, [], {})


def artifacts_of(
    skeleton: Row,
    contents: Contents,
    params: Mapping[str, Any],
) -> list[Row]:
    """Return the artifacts of a run: the given ones, then the others as they were made.

    Those of nodes whose output is private come without what they say, unless *contents*
    has what is private.
    """
    began = skeleton["started_at"]  # those of a child have no times of their own
    given: dict[str, Row] = {}
    for one in params.get("artifacts", []):
        given.setdefault(one["id"], {"created_at": began, **one})
    return [*given.values()] + [
        _made(skeleton, contents, one) for one in skeleton["artifacts"]
    ]


def is_withheld(row: Row) -> bool:
    """Tell whether the artifact of a *row* is shown to nobody who does not ask for it."""
    return row.get("visibility") == "private"


def _made(skeleton: Row, contents: Contents, found: Row) -> Row:
    said = found["row"] if "read" in found else contents.of_all(found["row"])
    row = {name: value for name, value in said.items() if value not in _EMPTY}
    if "data" in said and said["data"] in ([], {}):
        row["data"] = said["data"]
    stage = skeleton["stages"].get(found["scope"])
    is_letter = f"{found['scope']}/mail#" in str(row.get("id"))  # made of nothing here
    states_it = "lineage" in row or is_letter
    if not states_it and stage is not None and "context" in stage:
        from_these = contents.listed(stage["context"]["selected"])
        if from_these:
            row["lineage"] = from_these
    return {**row, "created_at": found["at"], "event": found["seq"]}


def typed_artifact(row: Row) -> Artifact:
    """Return a row of a record as an artifact; what was erased is missing."""
    return read_artifact(
        {
            name: value
            for name, value in row.items()
            if name not in ("event", "visibility") and not is_erased(value)
        }
    )
