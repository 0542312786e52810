"""Committing: what the ledger has of a graph's edits leads to the graph, or it says so."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest

from muniment.errors import CannotTellError, ErasedError, RefusedError, WrongError
from muniment.ledger import Ledger
from muniment_plugins.workflow import WorkflowGraph, workflow_graph
from muniment_plugins.workflow.edits.committing import workflow_commit
from muniment_plugins.workflow.edits.editing import (
    workflow_clone,
    workflow_insert_node,
    workflow_rewire,
    workflow_rewrite,
)
from muniment_plugins.workflow.edits.history import (
    workflow_committed,
    workflow_history,
)
from muniment_plugins.workflow.edits.setting import workflow_set
from muniment_plugins.workflow.vocabulary import EngineFact
from workflow_stages import Document, chain, stage

GRAPH = {**chain(a=stage(), b=stage()), "name": "mine"}


def refused(call: Callable[[], object]) -> str:
    """Return the rule by which *call* is refused."""
    with pytest.raises(RefusedError) as caught:
        call()
    return caught.value.rule


def test_b21_history(book: Ledger) -> None:
    """B21: each edit is an event; performed again they come to the committed digest."""
    first = workflow_commit(book, GRAPH, "a beginning")
    assert first == workflow_graph(GRAPH)
    graph = workflow_set(first, "a", "timeout_s", 5, reason="slow", actor="ann")
    graph = workflow_insert_node(graph, {"id": "c", **stage()}, {"from": "b"})
    second = workflow_commit(book, graph, "more")
    assert (second.version, second.edits, second.base) == (2, (), None)

    one, two = workflow_history(book, "mine")
    assert [each.edit.op for each in one.edits] == ["create"]
    said = [(e.edit.op, e.edit.node, e.edit.field, e.edit.actor) for e in two.edits]
    assert said == [
        ("set", "a", "timeout_s", "ann"),
        ("insert_node", "c", "nodes", None),
        ("commit", None, "version", None),
    ]
    assert two.edits[0].edit.before == one.digest == first.digest
    assert two.edits[-1].edit.after == two.digest == second.digest
    assert {two.actor, *(each.actor for each in two.edits)} == {"local"}
    assert (two.graph, two.reason, two.version) == (second, "more", 2)
    assert workflow_committed(book, "mine") == second
    assert workflow_committed(book, "mine", first.digest) == first


def test_actor(tmp_path: Path, place: Path) -> None:
    """Whoever commits is the actor that the ledger knows; an edit adds its own."""
    del place
    with Ledger.create(
        tmp_path / "l.db", home=tmp_path / "h", plugins=("workflow",), actor="eve"
    ) as book:
        graph = workflow_set(workflow_commit(book, GRAPH), "a", "timeout_s", 1)
        workflow_commit(book, graph)
        events = [*book.events(type="workflow.*")]
        assert {one.actor for one in events} == {"eve"}


def test_nothing_changed(book: Ledger) -> None:
    """What changes nothing is not committed: as it was, there and back, by version only."""
    first = workflow_commit(book, GRAPH)
    back = workflow_set(
        workflow_set(first, "a", "timeout_s", 5), "a", "timeout_s", None
    )
    second = workflow_commit(book, workflow_set(first, "a", "timeout_s", 5))
    lower = workflow_rewrite(second, {**dict(second.document), "version": 1})
    size = book.head.size
    assert refused(lambda: workflow_commit(book, second)) == "workflow/unchanged"
    assert refused(lambda: workflow_commit(book, lower)) == "workflow/unchanged"
    assert refused(lambda: workflow_commit(book, back)) == "workflow/not-following"
    assert book.head.size == size


def test_there_and_back(book: Ledger) -> None:
    """Edits that undo each other are no change, and a graph that was there before is one."""
    first = workflow_commit(book, GRAPH)
    slow = workflow_set(first, "a", "timeout_s", 5)
    back = workflow_set(slow, "a", "timeout_s", None)
    assert refused(lambda: workflow_commit(book, back)) == "workflow/unchanged"
    second = workflow_commit(book, slow)
    third = workflow_commit(book, workflow_set(second, "a", "timeout_s", None))
    assert (third.version, third.nodes) == (3, first.nodes)
    assert len(workflow_history(book, "mine")) == 3


def test_must_follow(book: Ledger) -> None:
    """Edits of an older graph, of another, or of none are refused; a rewrite follows."""
    first = workflow_commit(book, GRAPH)
    stale = workflow_set(first, "b", "timeout_s", 9)
    second = workflow_commit(book, workflow_set(first, "a", "timeout_s", 5))
    other = {**chain(a=stage(), z=stage()), "name": "mine"}
    for graph in (stale, workflow_graph(GRAPH), other):
        rule = refused(lambda graph=graph: workflow_commit(book, graph))  # type: ignore[misc]
        assert rule == "workflow/not-following"
    third = workflow_commit(book, workflow_rewrite(second, other))
    assert third.version == 3
    assert third.nodes == workflow_graph(other).nodes


@pytest.mark.parametrize("how", ["dropped", "cut", "mixed", "base", "in place"])
def test_forged_edits(book: Ledger, how: str) -> None:
    """Edits that were dropped, cut or changed do not lead to the graph: refused."""
    first = workflow_commit(book, GRAPH)
    graph = workflow_set(workflow_set(first, "a", "timeout_s", 5), "b", "timeout_s", 6)
    if how == "dropped":
        graph = replace(graph, edits=())
    elif how == "cut":
        graph = replace(graph, edits=graph.edits[1:])
    elif how == "mixed":
        graph = replace(graph, edits=graph.edits[::-1])
    elif how == "base":
        graph = replace(graph, base=graph.document)
    else:
        nodes: Any = graph.document["nodes"]
        nodes["a"]["timeout_s"] = 7
    size = book.head.size
    assert refused(lambda: workflow_commit(book, graph)).startswith("workflow/")
    assert book.head.size == size


def test_invalid(book: Ledger) -> None:
    """A graph that cannot run is not committed, and nothing of it is written."""
    first = workflow_commit(book, GRAPH)
    size = book.head.size
    odd = workflow_rewire(first, "b", "a", "nowhere")
    assert refused(lambda: workflow_commit(book, odd)) == "workflow/invalid"
    held = {"side_effect_level": "read_only"}
    slow = workflow_set(first, "a", "timeout_s", 5)
    rule = refused(lambda: workflow_commit(book, slow, ceiling=held))
    assert rule == "workflow/invalid"
    assert book.head.size == size


def test_names(book: Ledger) -> None:
    """Versions rise per name; a clone begins a history of its own, with its origin."""
    first = workflow_commit(book, GRAPH)
    clone = workflow_commit(book, workflow_clone(first))
    again = workflow_commit(book, workflow_set(clone, "a", "timeout_s", 1))
    assert (clone.name, clone.version, again.version) == ("mine_clone", 2, 3)
    one, _ = workflow_history(book, "mine_clone")
    assert [each.edit.op for each in one.edits] == ["create", "clone"]
    assert one.edits[1].edit.before == first.digest
    assert len(workflow_history(book, "mine")) == 1
    assert workflow_history(book, "nobody") == ()
    with pytest.raises(CannotTellError):
        workflow_committed(book, "nobody")
    with pytest.raises(CannotTellError):
        workflow_committed(book, "mine", "sha256:00")


@pytest.mark.parametrize("name", ["ä" * 300, 'a/b\n"c"', "workflow.history/x", ""])
def test_odd_names(book: Ledger, name: str) -> None:
    """Names of any length and with any characters have histories of their own."""
    graph = workflow_commit(book, {**GRAPH, "name": name or "x"})
    workflow_commit(book, workflow_set(graph, "a", "timeout_s", 1))
    assert len(workflow_history(book, name or "x")) == 2


def test_large(book: Ledger) -> None:
    """Documents, patches and reasons that exceed an event's size are kept as blobs."""
    nodes: Document = {f"n{one}": stage() for one in range(1000)}
    graph = workflow_commit(book, chain(**nodes), "because " * 20_000)
    (one,) = workflow_history(book, graph.name)
    assert (one.graph, len(one.reason)) == (graph, 160_000)


@pytest.mark.parametrize("member", ["before", "after", "patch"])
def test_broken_edit(book: Ledger, member: str) -> None:
    """An edit that was written by other means, and does not follow, is found by its seq."""
    first = workflow_commit(book, GRAPH)
    good = workflow_set(first, "a", "timeout_s", 5).edits[0].document()
    odd: Any = [{"op": "remove", "path": "/nodes/zzz"}]
    bad = {**good, member: odd if member == "patch" else "sha256:00"}
    event = book.append("workflow.edited", EngineFact(workflow="mine", **bad))
    with pytest.raises(WrongError) as caught:
        workflow_history(book, "mine")
    assert caught.value.seq == event.seq


def test_edit_without_commit(book: Ledger) -> None:
    """An edit that nobody committed is a contradiction; it keeps nobody from committing."""
    first = workflow_commit(book, GRAPH)
    graph = workflow_set(first, "a", "timeout_s", 5)
    data = {"workflow": "mine", **graph.edits[0].document()}
    event = book.append("workflow.edited", EngineFact(data))
    with pytest.raises(WrongError, match="no commit follows") as caught:
        workflow_history(book, "mine")
    assert caught.value.seq == event.seq
    assert workflow_commit(book, graph).version == 2


def test_broken_commit(book: Ledger) -> None:
    """A commit whose document has another digest is found by its seq, by both readers."""
    first = workflow_commit(book, GRAPH)
    (last,) = book.events(type="workflow.committed")
    odd = {**last.raw, "counted": 2, "version": 2, "document": dict(first.document)}
    event = book.append("workflow.committed", EngineFact(odd))
    for read in (workflow_history, workflow_committed):
        with pytest.raises(WrongError) as caught:
            read(book, "mine")
        assert caught.value.seq == event.seq


def test_erased(book: Ledger) -> None:
    """A document that was erased is said to be; what was made of it can be committed."""
    notes = {"metadata": {"text": "x" * 5000}}
    first = workflow_commit(book, {**GRAPH, **notes})
    (last,) = book.events(type="workflow.committed")
    ref: Any = last.raw["document"]
    book.erase(ref["$blob"], reason="personal")
    with pytest.raises(ErasedError):
        workflow_committed(book, "mine")
    graph = workflow_set(first, None, "metadata", None)
    assert workflow_commit(book, graph).version == 2


def test_all_or_nothing(book: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the commit itself is not written, none of its edits is."""
    first = workflow_commit(book, GRAPH)
    size = book.head.size
    plain = Ledger.append_many

    def short(self: Ledger, events: Any) -> Any:
        rows = [*events]
        rows[-1] = (rows[-1][0], {**rows[-1][1], "version": "two"})
        return plain(self, rows)

    monkeypatch.setattr(Ledger, "append_many", short)
    assert refused(
        lambda: workflow_commit(book, workflow_set(first, "a", "timeout_s", 5))
    )
    assert book.head.size == size


def test_two_writers(book: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two who commit at once, the second is refused, whatever it read before."""
    first = workflow_commit(book, GRAPH)
    ours = workflow_set(first, "a", "timeout_s", 5)
    theirs = workflow_set(first, "b", "timeout_s", 5)
    plain, before = Ledger.append_many, [True]

    def late(self: Ledger, events: Any) -> Any:
        if before.pop() if before else False:
            workflow_commit(book, theirs)
        return plain(self, events)

    monkeypatch.setattr(Ledger, "append_many", late)
    rule = refused(lambda: workflow_commit(book, ours))
    assert rule == "workflow/committed-meanwhile"
    assert workflow_committed(book, "mine").nodes == theirs.nodes
    assert len(workflow_history(book, "mine")) == 2


def test_two_threads(book: Ledger) -> None:
    """Ten threads commit at once: one of them does, and the history is whole."""
    first = workflow_commit(book, GRAPH)
    barrier, done, rules = Barrier(10), list[WorkflowGraph](), list[str]()

    def commit(number: int) -> None:
        graph = workflow_set(first, "a", "timeout_s", number + 1)
        barrier.wait()
        try:
            done.append(workflow_commit(book, graph))
        except RefusedError as error:
            rules.append(error.rule)

    threads = [Thread(target=commit, args=(one,)) for one in range(10)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert (len(done), len(rules)) == (1, 9)
    assert {*rules} <= {"workflow/committed-meanwhile", "workflow/not-following"}
    assert [one.version for one in workflow_history(book, "mine")] == [1, 2]


SECOND = """
import sys
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment_plugins.workflow.edits.committing import workflow_commit
from muniment_plugins.workflow.edits.history import workflow_committed
from muniment_plugins.workflow.edits.setting import workflow_set
with Ledger.open(sys.argv[1], home=sys.argv[2], plugins=("workflow",)) as book:
    graph = workflow_set(workflow_committed(book, "mine"), "b", "timeout_s", 8)
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        print(workflow_commit(book, graph).version)
    except RefusedError as error:
        print(error.rule)
"""


def test_two_processes(book: Ledger, tmp_path: Path) -> None:
    """What another process committed in between is seen, and its commit stands alone."""
    first = workflow_commit(book, GRAPH)
    with subprocess.Popen(
        [sys.executable, "-c", SECOND, str(book.path), str(tmp_path / "home")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        workflow_commit(book, workflow_set(first, "a", "timeout_s", 5))
        told, _ = other.communicate("go\n")
    assert told == "workflow/not-following\n"
    assert len(workflow_history(book, "mine")) == 2
