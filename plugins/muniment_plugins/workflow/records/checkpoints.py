"""Where a run stands, and stood after each node: derived from its skeleton.

    {"reason": "stage_complete", "last_stage_id": "act.1", "ready_nodes": ["verify"], …}

Rules:

- A node is ready once a way to it was taken, until it is visited. What a join did not
  wait for is ready no more.
- A race that ended leaves no way to where its branches begin: also one that the record of
  another run answered, which nothing is visited of.
- What works on items of a map is a part of that map's node.
- A run that failed by an effect goes on there: a resume performs it again.
- A visit without an end is as its run is, unless something closed around it: then it was
  cancelled.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from muniment.formats.lifecycle import CANCELED, COMPLETED, ENDS, OPEN
from muniment_plugins.workflow.records.rows import Row, above, pairs, part

__all__ = ["checkpoints_of", "queue_of", "status_of_stage"]

_FINAL = (ENDS[COMPLETED], ENDS[CANCELED])


def status_of_stage(record: Row, scope: str) -> str:
    """Return the status of the stage *scope*."""
    stage = record["stages"][scope]
    if stage["end"] is not None:
        return str(stage["end"].get("status"))
    if _is_closed(record, scope) or record["status"] == ENDS[COMPLETED]:
        return "cancelled"
    return str(record["status"] or OPEN)


def _is_closed(record: Row, scope: str) -> bool:
    """Tell whether what is around a stage has ended."""
    around = above(scope.rpartition("/")[0])
    return any(
        one in record["closed"]
        or (
            (stage := record["stages"].get(one)) is not None
            and stage["kind"] != "fork"
            and stage["end"] is not None
        )
        for one in around
    )


class _Ready:
    """The nodes that are ready, by the path that came to them."""

    def __init__(self, record: Row) -> None:
        self._record = record
        self._ways: dict[str, list[Row]] = {}
        self._at: dict[str, list[int]] = {}
        for one in record["transitions"]:
            self._ways.setdefault(one["scope"], []).append(one)
            self._at.setdefault(one["scope"], []).append(one["seq"])
        self.nodes: dict[tuple[str, str], None] = {}

    def visit(self, stage: Row) -> None:
        """Take a node that is visited from those that are ready."""
        path = stage["scope"].rpartition("/")[0]
        self.nodes.pop((path, stage["node"]), None)
        fork = _without_race(path.rpartition("/")[0])
        self.nodes.pop((fork, stage["node"]), None)
        closes = stage.get("closes")
        if closes is not None:
            self.nodes = {
                key: None for key in self.nodes if closes not in above(key[0])
            }

    def race(self, race: Row) -> None:
        """Take the branches of a race that ended, and never began, from what is ready."""
        scope = race["scope"]
        self.nodes = {key: None for key in self.nodes if key[0] != scope}

    def end(self, stage: Row) -> bool:
        """Add the nodes to which ways from a stage lead; tell whether there are any."""
        forks = stage["kind"] == "fork"
        scope = stage["scope"] if forks else stage["scope"].rpartition("/")[0]
        ways = self._ways.get(scope, [])
        first = bisect_right(self._at.get(scope, []), stage["end"]["seq"])
        taken = [
            one
            for one in ways[first : None if forks else first + 1]
            if one["source"] == stage["node"]
        ]
        for one in taken:
            self.nodes[scope, one["target"]] = None
        return bool(taken)

    @property
    def names(self) -> list[str]:
        """The names of the nodes, each once."""
        return list(dict.fromkeys(name for _, name in self.nodes))


def _without_race(scope: str) -> str:
    around, _, last = scope.rpartition("/")
    return around if last.startswith("@") else scope


def _changes(record: Row, ready: _Ready) -> Iterator[tuple[int, bool, Row]]:
    """Yield visits and ends of nodes, in the order of their events; keep *ready* the races."""
    rows: list[tuple[int, bool | None, Row]] = [
        (one["seq"], None, one) for one in record["races"].values()
    ]
    for stage in record["stages"].values():
        if "item_of" in stage:
            continue
        rows.append((stage["seq"], False, stage))
        if stage["end"] is not None:
            rows.append((stage["end"]["seq"], True, stage))
    for seq, is_end, row in sorted(rows, key=lambda one: one[0]):
        if is_end is None:
            ready.race(row)
        else:
            yield seq, is_end, row


def checkpoints_of(record: Row, entry: str | None) -> list[Row]:
    """Return where the run stood at its start, after each node, and at its end."""
    ready, ended = _Ready(record), 0
    found: list[Row] = []
    if record["workflow"] is not None:
        begun = record["workflow"]
        nodes = [] if entry is None else [entry]
        found.append(_checkpoint(begun["seq"], begun["at"], "start", nodes, 0))
    for seq, is_end, stage in _changes(record, ready):
        if not is_end:
            ready.visit(stage)
            continue
        ready.end(stage)
        ended += 1
        at, why = stage["end"]["at"], "stage_complete"
        row = _checkpoint(seq, at, why, ready.names, ended)
        found.append({**row, "last_stage_id": stage["scope"]})
    if record["finished_at"] is not None:
        seq, at = record["ending"]["seq"], record["finished_at"]
        left = queue_of(record, entry)["pending_nodes"]
        found.append(_checkpoint(seq, at, "finalize", left, ended))
    return found


def _checkpoint(seq: int, at: str, why: str, ready: list[str], ended: int) -> Row:
    return {
        "id": f"checkpoint_{seq}",
        "event": seq,
        "reason": why,
        "persisted_at": at,
        "ready_nodes": ready,
        "completed_stages": ended,
    }


def queue_of(record: Row, entry: str | None) -> Row:
    """Return the nodes where the run goes on, if it does, and those that completed."""
    ready, done = _Ready(record), dict[str, None]()
    left: dict[str, None] = {}
    for _, is_end, stage in _changes(record, ready):
        if not is_end:
            ready.visit(stage)
            left[stage["scope"]] = None
            continue
        left.pop(stage["scope"], None)
        goes_on = ready.end(stage)
        if stage["end"].get("status") == "completed":
            done[stage["node"]] = None
        elif not goes_on:
            left[stage["scope"]] = None
    pending: list[Any] = []
    if record["status"] not in _FINAL:
        open_ = (one for one in left if not _is_closed(record, one))
        pending = [record["stages"][one]["node"] for one in open_]
        pending += ready.names
        pending = _blamed(record) or pending
        if not record["stages"] and entry is not None:
            pending = [entry]
    return {
        "pending_nodes": sorted(set(pending)),
        "completed_nodes": sorted(done),
    }


def _blamed(record: Row) -> list[str]:
    """Return the nodes of the effects that the end of a run names as its cause."""
    nodes: list[str] = []
    for scope, _ in pairs(part(record, "ending").get("cause")):
        found = (record["stages"].get(one) for one in above(scope))
        stage: Row | None = next((one for one in found if one), None)
        while stage is not None and "item_of" in stage:
            stage = record["stages"][stage["item_of"]]
        if stage is not None:
            nodes.append(stage["node"])
    return nodes
