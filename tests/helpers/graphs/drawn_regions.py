"""Graphs that hypothesis draws by structure, so that most of them are valid.

    Drawn(draw).region(3)      sequences, conditions, forks with their joins, maps, loops
    Walks(draw).region(3)      the same, and what waits, is tried again, or is called

Rule: a graph grows by regions, each with one entry and one exit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from workflow_stages import edge

__all__ = ["Draw", "Drawn", "Walks", "graphs", "met_graphs", "walked_graphs"]

Document = dict[str, Any]
Draw = Callable[[st.SearchStrategy[Any]], Any]
HANDLERS = ("says", "fails", "raises", "two", "data")


class Drawn:
    """A graph that grows by regions, each with one entry and one exit."""

    handlers: tuple[str, ...] = HANDLERS
    simple: tuple[str, ...] = ("stage", "many", "loop")
    """What is drawn at any depth."""
    nested: tuple[str, ...] = ("either", "fork", "sequence")
    """What has regions in it."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.nodes: dict[str, Document] = {}
        self.edges: list[Document] = []
        self.meets: dict[str, int] = {}
        """Join → how many paths meet there."""

    def node(self, **document: Any) -> str:
        """Add a node, and return its name."""
        name = f"n{len(self.nodes)}"
        self.nodes[name] = document
        return name

    def stage(self, depth: int) -> tuple[str, str]:
        """Add a stage, which may fail."""
        del depth
        handler = self.draw(st.sampled_from(self.handlers))
        name = self.node(kind="stage", handler=f"workflow_stages:{handler}")
        if self.draw(st.booleans()):
            after = self.node(kind="stage", handler="workflow_stages:says")
            self.edges.append(edge(name, after, "*"))
            return name, after
        return name, name

    def many(self, depth: int) -> tuple[str, str]:
        """Add a map."""
        del depth
        name = self.node(
            kind="map",
            handler="workflow_stages:odd_raises",
            map_policy={"items": self.draw(st.lists(st.integers(0, 3), max_size=4))},
        )
        return name, name

    def either(self, depth: int) -> tuple[str, str]:
        """Add a condition, both ways of which lead to one join."""
        kind = self.draw(st.sampled_from(["plan", "artifact"]))
        name = self.node(kind="condition", metadata={"artifact_kind": kind})
        end = self.node(kind="join")
        self.meets[end] = 1
        for branch in ("true", "false"):
            first, last = self.region(depth - 1)
            self.edges += [edge(name, first, branch), edge(last, end)]
        return name, end

    def fork(self, depth: int) -> tuple[str, str]:
        """Add a fork with its join."""
        name = self.node(kind="fork")
        count = self.draw(st.integers(2, 3))
        strategy = self.draw(st.sampled_from(["all", "first", "quorum"]))
        policy: Document = {"strategy": strategy}
        if strategy == "quorum":
            policy["min_completed"] = self.draw(st.integers(1, count))
        end = self.node(kind="join", join_policy=policy)
        self.meets[end] = count
        for _ in range(count):
            first, last = self.region(depth - 1)
            self.edges += [edge(name, first), edge(last, end)]
        return name, end

    def loop(self, depth: int) -> tuple[str, str]:
        """Add a loop that ends by its limit, or by a verification."""
        del depth
        check = {"kind": "verify", "verify": {"handler": "workflow_stages:is_sound"}}
        verify = self.node(**check)
        mend = self.node(kind="stage", handler="workflow_stages:says", max_visits=2)
        self.edges += [edge(verify, mend, "failed"), edge(mend, verify, "retry")]
        return verify, verify

    def sequence(self, depth: int) -> tuple[str, str]:
        """Add two regions, one after the other."""
        first, middle = self.region(depth - 1)
        next_, last = self.region(depth - 1)
        self.edges.append(edge(middle, next_))
        return first, last

    def region(self, depth: int) -> tuple[str, str]:
        """Add a region, and return its first and its last node."""
        kinds = [*self.simple, *(self.nested if depth else ())]
        made: tuple[str, str] = getattr(self, self.draw(st.sampled_from(kinds)))(depth)
        return made

    def document(self) -> Document:
        """Return a graph that begins with a region."""
        entry, _ = self.region(3)
        return {"nodes": self.nodes, "edges": self.edges, "entry": entry, "name": "g"}


class Walks(Drawn):
    """Graphs whose runs wait, fail and go on, and which call others."""

    handlers = ("says", "says", "fails", "raises", "two", "sleeps", "says_later")
    simple = ("stage", "many", "tried", "child", "asks")
    nested = ("either", "fork", "fork", "again", "pruned", "sequence", "sequence")
    in_race = 0

    def node(self, **document: Any) -> str:
        """Add a node, whose handler may sleep for a moment."""
        if document.get("handler") == "workflow_stages:sleeps":
            document["metadata"] = {"seconds": self.draw(st.sampled_from([0, 0.01]))}
        return super().node(**document)

    def fork(self, depth: int) -> tuple[str, str]:
        """Add a fork with its join, which may be a race, where nobody is asked."""
        races = self.draw(st.booleans())
        self.in_race += races
        name = self.node(kind="fork")
        count = self.draw(st.integers(2, 3))
        some: Document = {"min_completed": self.draw(st.integers(1, count))}
        policy = self.draw(
            st.sampled_from([{"strategy": "first"}, {"strategy": "quorum", **some}])
            if races
            else st.sampled_from([{}, some, {"require_all_inputs": True}])
        )
        end = self.node(kind="join", join_policy=policy)
        self.meets[end] = count
        for _ in range(count):
            first, last = self.region(depth - 1)
            self.edges += [edge(name, first), edge(last, end)]
        if self.draw(st.booleans()):
            after = self.node(kind="stage", handler="workflow_stages:says")
            self.edges += [edge(end, after, "failed"), edge(end, after, "join")]
            end = after
        self.in_race -= races
        return name, end

    def many(self, depth: int) -> tuple[str, str]:
        """Add a map, of a handler or of a child, which may be a race."""
        del depth
        work: Document = self.draw(
            st.sampled_from(
                [
                    {"handler": "workflow_stages:odd_raises"},
                    {"body": self._child("odd_raises")},
                    {"body": {"kind": "map", "map_policy": {"items": [0, 1]}}},
                ]
            )
        )
        races = {"join_policy": {"strategy": "first"}}
        policy = self.draw(st.sampled_from([{}, races]))
        items = self.draw(st.lists(st.integers(0, 3), max_size=3))
        name = self.node(kind="map", map_policy={"items": items}, **work, **policy)
        if self.draw(st.booleans()):
            after = self.node(kind="stage", handler="workflow_stages:says")
            self.edges.append(edge(name, after, "*"))
            return name, after
        return name, name

    def tried(self, depth: int) -> tuple[str, str]:
        """Add a stage or a child that is tried several times, and fails at first."""
        del depth
        most = {"retry_policy": {"max_attempts": self.draw(st.integers(2, 3))}}
        fails = self.draw(st.integers(0, 4))
        said = {"file": f"calls{len(self.nodes)}", "fails": fails}
        counted = {"handler": "workflow_stages:counted", "metadata": said}
        graph = {"nodes": {"act": counted}}
        called = {"kind": "subagent", "graph": graph}
        name = self.node(**self.draw(st.sampled_from([counted, called])), **most)
        return name, name

    def child(self, depth: int) -> tuple[str, str]:
        """Add a graph that is called."""
        del depth
        name = self.node(**self._child(self.draw(st.sampled_from(self.handlers[:4]))))
        return name, name

    def _child(self, handler: str) -> Document:
        graph = {"nodes": {"act": {"handler": f"workflow_stages:{handler}"}}}
        named = {"name": "same", **graph} if self.draw(st.booleans()) else graph
        return {"kind": "subagent", "graph": named}

    def asks(self, depth: int) -> tuple[str, str]:
        """Add a question, where people can be asked."""
        if self.in_race:
            return self.stage(depth)
        name = self.node(kind="escalation")
        return name, name

    def pruned(self, depth: int) -> tuple[str, str]:
        """Add a condition that ends its path on one of its ways."""
        kind = self.draw(st.sampled_from(["plan", "artifact"]))
        name = self.node(kind="condition", metadata={"artifact_kind": kind})
        first, last = self.region(depth - 1)
        ends = self.node(handler="workflow_stages:says")
        self.edges += [edge(name, first, "true"), edge(name, ends, "false")]
        return name, last

    def again(self, depth: int) -> tuple[str, str]:
        """Add a loop around a region, which ends by the limit of its first node."""
        begin = self.node(handler="workflow_stages:says", max_visits=2)
        first, last = self.region(depth - 1)
        after = self.node(handler="workflow_stages:says")
        ends = self.node(handler="workflow_stages:says")
        self.edges += [edge(begin, first), edge(begin, ends, "error")]
        self.edges += [edge(last, after), edge(after, begin)]
        return begin, ends


@st.composite
def graphs(draw: Draw) -> Document:
    """Draw a graph."""
    return Drawn(draw).document()


@st.composite
def walked_graphs(draw: Draw) -> Document:
    """Draw a graph whose runs wait, fail and go on."""
    return Walks(draw).document()


@st.composite
def met_graphs(draw: Draw) -> tuple[Document, dict[str, int]]:
    """Draw such a graph, and how many paths meet in each of its joins."""
    drawn = Walks(draw)
    return drawn.document(), drawn.meets
