"""Folding what nodes state: their visits, attempts, verdicts, joins and ways on.

    {"node": "act", "kind": "stage", "visit": 1, "selected": ["a1"],
     "attempts": [{"attempt": 1, "status": "completed", …}], "end": {…}}

Rules:

- A visit of a node is a stage; its scope is its key, since a scope is in a run once.
- Only what the engine can have stated is folded: `held.stated`.
- Each end of an attempt is a row. One that a resume performs again stays, marked as
  superseded.
- The items of a map are counted by name, so that what is stated again counts once.
"""

from __future__ import annotations

from muniment.formats.statement import Event
from muniment_plugins.workflow.records.held.stated import (
    closed_fork,
    loop_about,
    path_owner,
    stage_about,
)
from muniment_plugins.workflow.records.rows import (
    Row,
    joined_path,
    place_of,
    said_in,
    taken,
)

__all__ = [
    "activated",
    "artifact_recorded",
    "attempted",
    "began",
    "completed",
    "concluded",
    "denied",
    "joined",
    "map_around",
    "raced",
    "selected",
    "taken_on",
]


def _around(scope: str) -> str:
    return scope.rpartition("/")[0]


def map_around(record: Row, path: str) -> tuple[str, str] | None:
    """Return the map and the item that work on *path* is for, if it is for one."""
    found = path_owner(record, path)
    if found is None or found["kind"] != "map":
        return None
    return found["scope"], path.rpartition("/")[2]


def activated(record: Row, event: Event) -> None:
    """Begin a stage.

    A join that closes a fork states what it does on their path, so its scope is made from
    its name. One that a single path passes has a scope of its own, as every visit.
    """
    scope, path = event.scope or "", _around(event.scope or "")
    closes = closed_fork(record, event)
    if closes is not None:
        scope, path = _named(event), scope
    stage: Row = {
        **place_of(event),
        "scope": scope,
        "stated_in": event.scope or "",
        **taken(event, "node", "kind", "visit", "cause"),
        "attempts": record["taken_back"].pop(scope, []),
        "attempt_began": None,
        "end": None,
    }
    record["stages"].setdefault(scope, stage)
    record["latest"].setdefault(path, {})[stage["node"]] = scope
    if closes is not None:
        stage["closes"] = closes
        record["closed"][closes] = event.seq
    work = map_around(record, path)
    if work is not None:
        record["stages"][scope]["item_of"] = work[0]


def _named(event: Event) -> str:
    return joined_path(
        event.scope or "", f"{event.raw.get('node')}.{event.raw.get('visit')}"
    )


def selected(record: Row, event: Event) -> None:
    """Take in what the stage works on."""
    names = ("selected", "tokens", "budget", "lost", "left_out", "pins", "cuts")
    stage = stage_about(record, event)
    if stage is not None:
        stage["context"] = {"selected": [], **taken(event, *names, "assembled")}


def began(record: Row, event: Event) -> None:
    """Take the first request of a stage as the begin of its attempt."""
    stage = stage_about(record, event)
    if stage is not None and stage["attempt_began"] is None:
        stage["attempt_began"] = event.time


def _end_attempt(stage: Row, event: Event, row: Row) -> None:
    started = stage["attempt_began"] or stage["at"]
    stage["attempt_began"] = None
    told = {"seq": event.seq, "started_at": started, "finished_at": event.time}
    stage["attempts"].append({**row, **told})


def attempted(record: Row, event: Event) -> None:
    """Add an attempt that failed; the last one comes with the end, which says more."""
    stage = stage_about(record, event)
    if stage is None or event.raw.get("wait_s") is None:
        return
    row = taken(event, "attempt", "status", "wait_s")
    _end_attempt(stage, event, {**row, "error_type": event.raw.get("error")})


def concluded(record: Row, event: Event) -> None:
    """Take in the verdict of a verification."""
    stage = stage_about(record, event)
    if stage is not None:
        stage["verification"] = {
            "seq": event.seq,
            "verdict": event.raw.get("verdict"),
            "checks": event.raw.get("checks", []),
        }


def denied(record: Row, event: Event) -> None:
    """Add a call of a tool that was refused: of a handler, or of a loop below it."""
    stage = stage_about(record, event) or loop_about(record, event)
    if stage is not None:
        row = taken(event, "tool", "outcome", "code", "place", "message")
        denials = stage.setdefault("denials", [])
        denials.append({"seq": event.seq, "at": event.time, **row})


def joined(record: Row, event: Event) -> None:
    """Take in how the branches of a fork, or the items of a map, ended."""
    stage = stage_about(record, event)
    if stage is not None:
        names = ("strategy", "arrived", "dead", "failed", "cancelled", "left_out")
        stage["joined"] = {"seq": event.seq, **taken(event, *names)}


def raced(record: Row, event: Event) -> None:
    """Take in that a race of branches, or of items, ended, and where it says how.

    What the record of another run answered was walked there: *answered*.
    """
    stage = record["stages"].get(event.scope or "")
    if stage is None or stage["kind"] not in ("fork", "map"):
        return
    by = event.raw.get("answered_by")
    name = "value" if event.type.endswith(".completed") else "data"
    record["races"][f"{event.scope} {event.ordinal}"] = {
        **place_of(event),
        "value": said_in(event, name),
        "answered": isinstance(by, dict) and by.get("who") != "performer",
    }


def completed(record: Row, event: Event) -> None:
    """End a stage, and its last attempt."""
    stage = stage_about(record, event)
    if stage is None:
        return
    names = ("status", "outcome", "branch", "attempts", "produced", "rule", "error")
    end = {"seq": event.seq, "at": event.time, **taken(event, *names)}
    if stage["end"] is not None:  # a resumption came to another end
        stage["attempts"][-1]["superseded"] = True
    stage["end"] = end
    row: Row = {
        name: end[name] for name in ("status", "outcome", "branch") if name in end
    }
    broken: Row = {name: end[name] for name in ("rule", "error") if name in end}
    _end_attempt(stage, event, {"attempt": end.get("attempts", 1), **row, **broken})
    _count_item(record, event, "done" if end.get("status") == "completed" else "failed")


def _count_item(record: Row, event: Event, how: str) -> None:
    work = map_around(record, _around(event.scope or ""))
    if work is not None:
        scope, item = work
        record["stages"][scope].setdefault("items", {})[item] = how


def taken_on(record: Row, event: Event) -> None:
    """Add the way on that a path took."""
    scope = event.scope or ""
    source = event.raw.get("source")
    here = record["stages"].get(scope)
    came_from = scope
    if here is None or here["kind"] != "fork" or here["node"] != source:
        came_from = record["latest"].get(scope, {}).get(source)
    row = taken(event, "source", "target", "branch", "matched")
    record["transitions"].append({**place_of(event), **row, "stage": came_from})


def artifact_recorded(record: Row, event: Event) -> None:
    """Add an artifact; one that an item of a map became is that item's end."""
    scope = event.scope or ""
    if scope not in record["stages"]:
        work = map_around(record, scope)
        if work is not None:
            record["stages"][work[0]].setdefault("items", {})[work[1]] = "done"
    row = {name: said_in(event, name) for name in event.raw}
    record["artifacts"].append({**place_of(event), "row": row})
