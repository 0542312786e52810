"""What a resumption takes back: facts after a failure that is performed again.

    run.resumed {"generation": 1, "supersedes": [["act.1", 2]]}

Rules:

- What follows the failure in its scope, and in those around it, is stated again if it
  still holds; what is beside it stays.
- Ends of attempts are kept, and say that they are superseded.
- The work is as much as what is taken back, and no more.
"""

from __future__ import annotations

from collections.abc import Collection

from muniment.formats.statement import Event
from muniment_plugins.workflow.records.rows import Row, above, pairs

__all__ = ["take_back"]

_LISTS = ("transitions", "artifacts", "questions")
_PARTS = ("end", "verification", "joined")


def take_back(record: Row, event: Event) -> None:
    """Take back what the resumption *event* supersedes."""
    for scope, ordinal in pairs(event.raw.get("supersedes")):
        seq = record["failures"].pop(f"{scope} {ordinal}", None)
        if seq is not None:
            _drop(record, seq, frozenset(above(scope)))


def _drop(record: Row, seq: int, scopes: Collection[str]) -> None:
    for name in _LISTS:
        kept: list[Row] = []
        rows: list[Row] = record[name]
        while rows and rows[-1]["seq"] > seq:
            row = rows.pop()
            if row["scope"] not in scopes:
                kept.append(row)
        rows.extend(reversed(kept))
    _drop_joins(record, seq, scopes)
    for scope in scopes:
        stage = record["stages"].get(scope)
        if stage is not None:
            _reopen(stage, seq)
        loop = record["agents"].get(scope)
        if loop is not None and (loop["end"] or {"seq": -1})["seq"] > seq:
            loop["end"] = None


def _drop_joins(record: Row, seq: int, scopes: Collection[str]) -> None:
    """Drop the joins that were stated on these paths after *seq*; keep their attempts."""
    later: list[str] = []
    for scope, stage in reversed(record["stages"].items()):
        if stage["seq"] <= seq:
            break
        if stage["stated_in"] in scopes and stage["stated_in"] != scope:
            later.append(scope)
    for scope in later:
        stage = record["stages"].pop(scope)
        _reopen(stage, seq)
        record["taken_back"][scope] = stage["attempts"]
        record["closed"].pop(stage.get("closes"), None)


def _reopen(stage: Row, seq: int) -> None:
    for part in _PARTS:
        if (stage.get(part) or {"seq": -1})["seq"] > seq:
            stage[part] = None
    stage["attempt_began"] = None
    for one in reversed(stage["attempts"]):
        if one["seq"] <= seq:
            break
        one["superseded"] = True
    for name in ("answered", "denials"):
        if name in stage:
            stage[name] = [one for one in stage[name] if one["seq"] <= seq]
