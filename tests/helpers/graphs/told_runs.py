"""What the events of a run of a graph say, held against its record and its status.

    require_told(ledger, run)

Rules:

- Events are read here as the reference describes them, one path after the other, and not
  as the fold of a record reads them: so what one of the two gets wrong, the other shows.
- A visit has a scope of its own, a path the one around it; scopes of races are between.
- What a resumption takes back was not said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from muniment import Event
from muniment.ledger import Ledger
from muniment_plugins.workflow import run_record, workflow_status
from muniment_plugins.workflow.records.checkpoints import queue_of
from muniment_plugins.workflow.records.skeleton import WorkflowRecords

__all__ = ["Walked", "held_at_each_event", "require_told", "said_by"]

Row = dict[str, Any]
RACE = re.compile(r"@race\.\d+")
OF_NODES = ("node.activated", "node.completed", "transition.taken", "artifact.recorded")
UNDECIDED = ("open", "paused", "interrupted")


def plain(scope: str | None) -> tuple[str, ...]:
    """Return the parts of *scope* without those of races."""
    return tuple(x for x in (scope or "").split("/") if x and not RACE.fullmatch(x))


def around(scope: str | None) -> set[str]:
    """Return *scope*, and those around it up to that of the run."""
    parts = (scope or "").split("/")
    return {"/".join(parts[:end]) for end in range(len(parts) + 1)}


def said_by(events: list[Event]) -> list[Event]:
    """Return *events* without what resumptions took back."""
    gone: set[int] = set()
    for event in events:
        for scope, ordinal in cast("list[Any]", event.raw.get("supersedes") or []):
            failed = max(
                one.seq
                for one in events
                if (one.scope or "", one.ordinal) == (scope, ordinal)
                and one.type.endswith(".failed")
                and one.seq < event.seq
            )
            gone |= {
                one.seq
                for one in events
                if failed < one.seq < event.seq and (one.scope or "") in around(scope)
            }
    return [one for one in events if one.seq not in gone]


@dataclass
class Walked:
    """Where the paths of a run are, by the events of nodes and of their ways on."""

    at: dict[tuple[str, ...], tuple[str, str]] = field(default_factory=dict)
    """Path → how it is at a node: ``in``, ``ready`` or ``failed``; and the node."""
    kinds: dict[tuple[str, ...], str] = field(default_factory=dict)
    """Visit → the kind of its node."""
    closed: set[tuple[str, ...]] = field(default_factory=set)

    def take(self, event: Event) -> None:
        """Take in what *event* says."""
        scope, said = plain(event.scope), cast("Row", event.raw)
        is_path = len(scope) % 2 == 0
        if event.type in ("race.completed", "race.failed"):
            self._end_race(scope)
        if event.type not in OF_NODES or self._is_over(scope):
            return
        path = scope if is_path else scope[:-1]
        if event.type == "transition.taken":
            place = scope if is_path else (*scope, said["target"])
            self.at[place] = "ready", said["target"]
        elif event.type == "node.activated":
            if is_path:  # a join that closes a fork
                fork = max(
                    (x for x in self.kinds if x[:-1] == path and self._forks(x, said)),
                    key=lambda one: int(one[-1].rpartition(".")[2]),
                )
                self._drop(fork)
                self.closed.add(fork)
            else:
                self.kinds[scope] = said["kind"]
            if self.kinds.get(path[:-1]) != "map":
                self.at[path] = "in", said["node"]
        elif event.type == "node.completed" and path in self.at:
            del self.at[path]
            if said["status"] == "failed":
                self.at[path] = "failed", said["node"]

    def _end_race(self, fork: tuple[str, ...]) -> None:
        """Leave the branches of a race that never began, or that another run walked."""
        begun = {one[: len(fork) + 1] for one in self.kinds}
        for path in [one for one in self.at if one[:-1] == fork and one not in begun]:
            del self.at[path]

    def _forks(self, scope: tuple[str, ...], join: Mapping[str, Any]) -> bool:
        name = scope[-1].rpartition(".")[0]
        return self.kinds[scope] == "fork" and name == join["cause"]

    def _is_over(self, scope: tuple[str, ...]) -> bool:
        return any(scope[: len(one)] == one for one in self.closed)

    def _drop(self, fork: tuple[str, ...]) -> None:
        self.at = {k: v for k, v in self.at.items() if k[: len(fork)] != fork}

    def nodes(self, *how: str) -> set[str]:
        """Return the nodes where paths are like that."""
        return {node for as_, node in self.at.values() if as_ in how}


def require_told(ledger: Ledger, run: str) -> Row:
    """Hold record and status of *run* to its events; return the record."""
    record: Row = run_record(ledger, run)
    events = said_by(list(ledger.events(run=run)))
    _lists_what_was_stated(record, events)
    _lists_what_is_named(record, ledger, run)
    _is_where_paths_are(record, events, ledger, run)
    _names_who_called(record, ledger, run)
    _held_policies(record, ledger, run)
    return record


def _lists_what_was_stated(record: Row, events: list[Event]) -> None:
    """Each visit has a stage, each way a transition, each artifact a row; no more do."""
    said = {kind: [x for x in events if x.type == kind] for kind in OF_NODES}
    begun = {one["event"]: one for one in record["stages"]}
    assert sorted(begun) == [one.seq for one in said["node.activated"]]
    for event in said["node.activated"]:
        stage = begun[event.seq]
        told = event.raw["node"], event.raw["kind"], event.raw["visit"]
        assert (stage["node_id"], stage["kind"], stage["visit"]) == told
    ends = {
        (plain(one.scope), one.raw["node"], one.raw["visit"])
        for one in said["node.completed"]
    }
    for stage in record["stages"]:
        named = stage["node_id"], stage["visit"]
        places = (plain(stage["id"]), *named), (plain(stage["scope"]), *named)
        assert ("branch" in stage) == any(one in ends for one in places), stage["id"]
    ways = [(x["event"], x["to_node_id"]) for x in record["transitions"]]
    assert ways == [(x.seq, x.raw["target"]) for x in said["transition.taken"]]
    ids = {one["id"]: one["node_id"] for one in record["stages"]}
    for way in record["transitions"]:
        assert ids[way["from_stage_id"]] == way["from_node_id"]
    listed = {x["id"] for x in record["artifacts"]}
    assert {x.raw["id"] for x in said["artifact.recorded"]} <= listed


def _lists_what_is_named(record: Row, ledger: Ledger, run: str) -> None:
    """Each artifact that something refers to is listed."""
    if "erased" in record:
        return
    listed = [one["id"] for one in record["artifacts"]]
    named = {
        one
        for stage in [*record["stages"], *record["transitions"]]
        for which in ("consumed_artifact_ids", "produced_artifact_ids")
        for one in stage[which]
    }
    for event in ledger.events(run=run, type="run.completed"):
        result: Any = ledger.resolve(event)["result"]
        named |= {one["id"] for one in result["artifacts"]}
    assert named <= set(listed), named - set(listed)
    assert len(listed) == len(set(listed))


def _is_where_paths_are(
    record: Row, events: list[Event], ledger: Ledger, run: str
) -> None:
    """Pending are the nodes where paths are, and so says the status."""
    walked = Walked()
    for event in events:
        walked.take(event)
    pending = set(record["queue"]["pending_nodes"])
    status = record["status"]
    if status in ("completed", "canceled"):
        assert pending == set()
    elif not record["stages"]:
        assert len(pending) <= 1
    elif causes := cast("list[Any]", events[-1].raw.get("cause")):
        assert pending == {*_blamed(record, causes)}
    else:
        assert pending == walked.nodes("in", "ready", "failed")
    at = workflow_status(ledger, run)["at"]
    assert len(at) == len(set(at))
    assert set(at) == (pending if status in UNDECIDED else set())


def _blamed(record: Row, causes: list[Any]) -> Iterator[str]:
    stages = {plain(one["id"]): one for one in record["stages"]}
    for scope, _ in causes:
        parts = plain(scope)
        found = [
            stages[parts[:n]] for n in range(len(parts) + 1) if parts[:n] in stages
        ]
        yield [one["node_id"] for one in found if "item_of" not in one][-1]


def _names_who_called(record: Row, ledger: Ledger, run: str) -> None:
    """Each run that was called has the stage that did, which its artifacts begin with."""
    asked = [*ledger.events(run=run, type="child.requested")]
    requests = [cast("Row", one.raw["request"]) for one in asked]
    if not all(ledger.holds(one["$blob"]) for one in requests):
        return
    stages = {one["id"] for one in record["stages"]}
    calls = {f"{one.scope}#{one.ordinal}" for one in asked}
    seen = [one["worker_id"] for one in record["child_runs"]]
    assert len(seen) == len(set(seen)), "a call is one run's"
    assert set(seen) <= calls
    for child in record["child_runs"]:
        assert child["parent_stage_id"] in stages
        assert f"{child['worker_id']}/".startswith(child["parent_stage_id"])
        started = next(ledger.events(run=child["run_id"], limit=1))
        params: Any = ledger.resolve(started).get("params") or {}
        prefix = params.get("pins", {}).get("prefix")
        if prefix is not None:
            assert prefix.endswith(f"{child['parent_stage_id']}/")
    led = {x["to_id"]: x for x in record["observability"]["action_graph_edges"]}
    for child in record["child_runs"]:
        way = led[f"worker:{child['run_id']}"]
        assert (way["from_id"], way["kind"]) == (child["parent_stage_id"], "delegates")


def _held_policies(record: Row, ledger: Ledger, run: str) -> None:
    """Hold each join that completed to its policy: as many paths came."""
    started = next(ledger.events(run=run, limit=1))
    if "erased" in record:
        return
    params: Any = ledger.resolve(started)["params"]
    for stage in record["stages"]:
        if (stage["kind"], stage["status"]) != ("join", "completed"):
            continue
        policy = params["graph"]["nodes"][stage["node_id"]].get("join_policy", {})
        came = stage.get("joined", {"arrived": [stage["cause"]]})["arrived"]
        assert len(came) >= policy.get("min_completed", 1)
        assert "joined" in stage or not policy.get("require_all_inputs")


def held_at_each_event(ledger: Ledger, run: str) -> None:
    """Hold where a run stands after each of its events, while it had no other end."""
    fold = WorkflowRecords()
    state: Any = fold.initial()
    walked = Walked()
    for event in ledger.events(run=run):
        if event.type == "run.resumed":
            return
        state = fold.apply(state, event)
        walked.take(event)
        if event.type in OF_NODES and state["status"] == "open":
            found = set(queue_of(state, None)["pending_nodes"])
            assert found == walked.nodes("in", "ready", "failed"), event.seq
