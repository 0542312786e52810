"""How far the runs of graphs are: as one line that changes, or as a line for each node.

    act (visit 2, attempt 2)  lint in fork.1/lint  map 3 of 10 items  $0.25
    fork.1/lint/lint.1: failed, effect/failed, after 2 attempts

Rules:

- It reads what is recorded, as anybody could: the run does not know that it is watched.
- Work on the items of a map is counted with the map, and is no line of its own.
- The cost is that of the calls whose price is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from muniment_plugins.workflow.records.skeleton import WorkflowRecords

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["GraphProgress"]

_NODE = ("node.activated", "node.completed")
_UNSAID = ("fork", "join")
_MOST = 6
"""How many nodes one line names."""


@dataclass(slots=True)
class _Watched:
    """One run: its skeleton so far, and which of its stages are open."""

    state: Any
    open: dict[str, None] = field(default_factory=dict[str, None])
    prefix: str = ""
    params: dict[str, Any] | None = None
    totals: dict[str, int | None] = field(default_factory=dict[str, "int | None"])
    """Map → how many items it has, if that is known."""


class GraphProgress:
    """Follows the runs of graphs that are recorded after the event *start*."""

    def __init__(self, ledger: Ledger, start: int) -> None:
        self._ledger = ledger
        self._next = start
        self._fold = WorkflowRecords()
        self._runs: dict[str, _Watched] = {}
        self.events = 0
        """How many events there were, of whichever runs."""
        self.last = ""
        """The type of the last one."""

    def follow(self, *runs: str) -> None:
        """Take in what *runs*, which are resumed, have done so far."""
        for run in runs:
            for event in self._ledger.events(run=run, to_seq=self._next - 1):
                self._take(event)

    def new_lines(self) -> Iterator[str]:
        """Take in what was recorded since; yield a line for each node that ended."""
        from muniment.errors import MunimentError

        with suppress(MunimentError):  # a display must never end the work that it shows
            for event in self._ledger.events(from_seq=self._next):
                self._next, self.last = event.seq + 1, event.type
                self.events += 1
                line = self._take(event)
                if line:
                    yield line

    def _take(self, event: Event) -> str | None:
        if event.run is None:
            return None
        run = self._runs.get(event.run)
        if run is None:
            run = self._runs[event.run] = _Watched(self._fold.initial())
            if event.raw.get("parent"):
                run.prefix = f"{event.raw.get('name')}: "
        run.state = self._fold.apply(run.state, event)
        if event.type not in _NODE:
            return None
        scope = _stage_of(run.state, event)
        stage: dict[str, Any] | None = run.state["stages"].get(scope)
        if stage is None:  # nobody's: see what a record holds
            return None
        if event.type == _NODE[0]:
            run.open[scope] = None
            return None
        run.open.pop(scope, None)
        if "item_of" in stage or stage["end"] is None:
            return None
        return f"{run.prefix}{scope}: {self._ended(run, stage)}"

    def _ended(self, run: _Watched, stage: dict[str, Any]) -> str:
        end = stage["end"]
        parts = [str(end.get("branch"))]
        if "rule" in end:
            parts.append(str(end["rule"]))
        if stage.get("items"):
            parts.append(self._items(run, stage))
        if end.get("attempts", 1) > 1:
            parts.append(f"after {end['attempts']} attempts")
        return ", ".join(parts)

    def _items(self, run: _Watched, stage: dict[str, Any]) -> str:
        items: dict[str, str] = stage.get("items", {})
        total = self._total(run, stage)
        failed = sum(one == "failed" for one in items.values())
        of = "" if total is None else f" of {total}"
        bad = f", {failed} failed" if failed else ""
        return f"{len(items)}{of} items{bad}"

    def _total(self, run: _Watched, stage: dict[str, Any]) -> int | None:
        """Return how many items a map has, if graph and record say so."""
        if stage["scope"] not in run.totals:
            if run.params is None:
                run.params = self._params(run)
            run.totals[stage["scope"]] = _count(run.state, run.params, stage)
        return run.totals[stage["scope"]]

    def _params(self, run: _Watched) -> dict[str, Any]:
        from muniment.errors import MunimentError
        from muniment.formats.statement import BlobRef

        params = run.state["start"].get("params")
        if not isinstance(params, dict) or "$blob" not in params:
            return {}
        with suppress(MunimentError):
            ref = BlobRef.from_json(cast("dict[str, JsonValue]", params))
            return cast("dict[str, Any]", self._ledger.value(ref))
        return {}

    @property
    def line(self) -> str | None:
        """What is being done, on one line; None if no graph is walked."""
        watched = [one for one in self._runs.values() if one.state["workflow"]]
        if not watched:
            return None
        told = [one for run in watched for one in self._doing(run)]
        more = [f"and {len(told) - _MOST} more"] if len(told) > _MOST else []
        cost = sum(
            (Decimal(one.state.get("usage", {}).get("usd", 0)) for one in watched),
            Decimal(0),
        )
        priced = [f"${cost.normalize():f}"] if cost else []
        return "  ".join([*told[:_MOST], *more, *priced])

    def _doing(self, run: _Watched) -> Iterator[str]:
        """Yield the open nodes of *run*, each with where it is and how far."""
        for scope in run.open:
            stage = run.state["stages"].get(scope)
            if stage is None or stage["kind"] in _UNSAID or "item_of" in stage:
                continue
            path = scope.rpartition("/")[0]
            more: list[str] = []
            if stage["visit"] > 1:
                more.append(f"visit {stage['visit']}")
            tried = sum("superseded" not in one for one in stage["attempts"])
            if tried:
                more.append(f"attempt {tried + 1}")
            words = f"{run.prefix}{stage['node']}"
            words += f" in {_plain(path)}" if path else ""
            if stage["kind"] == "map":
                words += f" {self._items(run, stage)}"
            yield f"{words} ({', '.join(more)})" if more else words


def _stage_of(state: Any, event: Event) -> str:
    """Return the stage that an event of a node is about."""
    scope, node = event.scope or "", event.raw.get("node")
    here = state["stages"].get(scope)
    if here is not None and here["node"] == node:
        return scope
    return str(state["latest"].get(scope, {}).get(node, scope))


def _plain(path: str) -> str:
    """Return a path without what only tells effects apart."""
    return "/".join(one for one in path.split("/") if not one.startswith("@"))


def _count(state: Any, params: dict[str, Any], stage: dict[str, Any]) -> int | None:
    """Return how many items a map has: those of its policy, or what it selected."""
    graph = params.get("graph", {})
    policy = graph.get("nodes", {}).get(stage["node"], {}).get("map_policy", {})
    if "items" in policy:
        found = len(policy["items"])
    else:
        chosen = stage.get("context", {}).get("selected", [])
        if not isinstance(chosen, list):  # a long list is a content of its own
            return None
        kinds = {one["id"]: one["kind"] for one in params.get("artifacts", [])}
        kinds |= {one["row"]["id"]: one["row"]["kind"] for one in state["artifacts"]}
        kind = policy.get("item_artifact_kind")
        ids = cast("list[str]", chosen)
        found = sum(kind in (None, kinds.get(one)) for one in ids)
    return min(found, int(policy.get("max_items", found)))
