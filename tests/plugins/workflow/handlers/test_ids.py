"""An id is that of one artifact, whatever a run was given, and by whom it was made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import muniment
from muniment import hookimpl
from muniment.errors import UsageError
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment_plugins.workflow import (
    Artifact,
    Branches,
    NodeOutcome,
    NodeVisit,
    artifact,
    run_record,
    workflow_execute,
)
from workflow_stages import Document, chain, edge, graph_of, stage

GRAPH: Document = graph_of(
    {
        "act": stage(),
        "f": {"kind": "fork"},
        "a": stage(),
        "b": stage(),
        "j": {"kind": "join", "join_policy": {"strategy": "first"}},
        "m": {"kind": "map", "map_policy": {"items": [1]}, "body": stage()},
        "o": {"kind": "map", "map_policy": {"items": ["x"]}},
        "sub": {"kind": "subagent", "graph": {"nodes": {"act": stage()}}},
    },
    edge("act", "f"),
    edge("f", "a"),
    edge("f", "b"),
    edge("a", "j"),
    edge("b", "j"),
    edge("j", "m"),
    edge("m", "o"),
    edge("o", "sub"),
)


def ids_of(book: Ledger, run: str) -> list[str]:
    """Return the ids in the record of *run*, of which there is one each."""
    found = [one["id"] for one in run_record(book, run)["artifacts"]]
    assert len(found) == len(set(found))
    return found


def test_what_a_run_made_is_given_to_the_next(book: Ledger) -> None:
    """A graph can be run again with all that it made: nothing has an id twice."""
    given: list[Artifact] = []
    for number in range(1, 4):
        done = workflow_execute(book, "t", GRAPH, given)
        assert done.status == "completed", done.error
        assert muniment.replay(book, done.run_id).verdict == "acceptable"
        found = ids_of(book, done.run_id)
        assert [one.id for one in done.artifacts][: len(given)] == [
            one.id for one in given
        ]
        first = "act.1#0" if number == 1 else f"{number}/act.1#0"
        assert found[len(given)] == first
        given = done.artifacts


@pytest.mark.parametrize(
    "name",
    [
        "act.1#0",
        "act.1#7",
        "f.1/@race.4/a/a.1#0",
        "m.1/0/body.1#0",
        "o.1/0#0",
        "sub.1/act.1#0",
    ],
)
def test_any_id_that_it_could_come_to(book: Ledger, name: str) -> None:
    """Whichever id of its own a run is given, it comes to none of them."""
    one = artifact({"id": name, "kind": "plan", "text": "given"})
    done = workflow_execute(book, "t", GRAPH, [one])
    assert done.status == "completed", done.error
    assert ids_of(book, done.run_id).count(name) == 1
    assert done.artifacts[0].text == "given"


@pytest.mark.parametrize("name", ["issue#12", "file", "2/act.1#0", "other.1#0"])
def test_other_ids_change_nothing(book: Ledger, name: str) -> None:
    """An id that no node could come to leaves the run's own as they are."""
    one = artifact({"id": name, "kind": "plan", "text": "given"})
    done = workflow_execute(book, "t", chain(act=stage()), [one])
    assert ids_of(book, done.run_id) == [name, "act.1#0"]


def test_two_given_ones(book: Ledger) -> None:
    """Two artifacts of one id are refused before a run begins; the same twice is one."""
    one = artifact({"id": "x", "kind": "plan", "text": "given"})
    other = artifact({"id": "x", "kind": "plan", "text": "another"})
    size = book.head.size
    with pytest.raises(UsageError, match=r"artifacts: \[1\]: another artifact"):
        workflow_execute(book, "t", chain(act=stage()), [one, other])
    assert book.head.size == size
    done = workflow_execute(book, "t", chain(act=stage()), [one, one])
    assert ids_of(book, done.run_id) == ["x", "act.1#0"]


class Chooses:
    """A kind of a plugin that chooses ids itself."""

    name = "acme.choose"
    branches = Branches(("done",))
    keys = frozenset[str]()

    def findings(self, node: object, graph: object) -> Iterator[Any]:
        """Return nothing."""
        del node, graph
        return iter(())

    async def take(self, here: NodeVisit) -> NodeOutcome:
        """Make an artifact of another one's id."""
        made = artifact({"id": "act.1#0", "kind": "plan", "text": here.node.name})
        return NodeOutcome("done", "done", [made])


class Acme:
    """The plugin."""

    @hookimpl(optionalhook=True)
    def node_kinds(self) -> list[Any]:
        """Return the kind."""
        return [Chooses()]


def test_a_kind_that_chooses_ids(tmp_path: Path, place: Path) -> None:
    """A plugin's kind that takes the id of another artifact is an error of its node."""
    del place
    plugins = Plugins(("workflow",), extra={"acme": Acme()})
    nodes: Document = {"act": stage(), "c": {"kind": "acme.choose"}, "end": stage()}
    graph = graph_of(nodes, edge("act", "c"), edge("c", "end", "error"))
    with Ledger.create(
        tmp_path / "l.db", home=tmp_path / "home", plugins=plugins
    ) as book:
        done = workflow_execute(book, "t", graph)
        assert done.status == "completed", done.error
        assert ids_of(book, done.run_id) == ["act.1#0", "end.1#0"]
        (chose,) = (
            one
            for one in run_record(book, done.run_id)["stages"]
            if one["node_id"] == "c"
        )
        assert chose["rule"] == "workflow/own-id"
