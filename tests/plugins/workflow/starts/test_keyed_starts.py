"""A workflow that is started twice with one key is started once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from children import Child, start
from editions import first_edition
from muniment import Run
from muniment.errors import RefusedError, UsageError
from muniment.ledger import Ledger
from muniment_plugins.workflow import workflow_execute
from workflow_stages import Document, chain, edge, graph_of, stage

KEY = "nightly/2026-11-26"


def counted(place: Path) -> Document:
    """Return a graph whose only stage counts how often it was called."""
    return chain(act=stage("counted", metadata={"file": str(place / "calls")}))


def test_started_once(book: Ledger, place: Path) -> None:
    """Later starts get the run that is there, and write nothing."""
    first = workflow_execute(book, "t", counted(place), key=KEY)
    size = book.head.size
    again = workflow_execute(book, "t", counted(place), key=KEY)

    assert (again.run_id, again.status) == (first.run_id, "completed")
    assert [one.text for one in again.artifacts] == ["call 1"]
    assert book.head.size == size
    assert (place / "calls").read_text() == "x"


def test_other_keys_are_other_starts(book: Ledger, place: Path) -> None:
    """Another key, and none, is another start."""
    runs = {
        workflow_execute(book, "t", counted(place), key=key).run_id
        for key in (KEY, "other", None, None)
    }
    assert len(runs) == 4


def test_a_run_that_waits_is_the_one(book: Ledger) -> None:
    """A run that waits has its key, too: it is resumed, and not started again."""
    graph = graph_of(
        {"act": stage(), "ask": {"kind": "escalation"}}, edge("act", "ask")
    )
    first = workflow_execute(book, "t", graph, key=KEY)
    again = workflow_execute(book, "t", graph, key=KEY)

    assert (first.status, again.status) == ("paused", "paused")
    assert first.run_id == again.run_id


def test_at_once(book: Ledger, place: Path) -> None:
    """Of processes that start at the same moment one walks, and the others say which."""

    def begin(report: object) -> None:
        del report
        while not (place / "go").exists():
            pass
        with Ledger.open(book.path, plugins=("workflow",)) as opened:
            workflow_execute(opened, "t", counted(place), key=KEY)

    children: list[Child] = [start(begin) for _ in range(4)]
    (place / "go").touch()
    for one in children:
        one.end()

    assert (place / "calls").read_text() == "x"
    ended = [one.status for one in book.runs()]
    assert ended.count("completed") == 1


@pytest.mark.parametrize("name", ["", "with space", "x" * 300])
def test_odd_keys(book: Ledger, place: Path, name: str) -> None:
    """A key is a short text without spaces."""
    with pytest.raises(Exception, match="key"):
        workflow_execute(book, "t", counted(place), key=name)
    assert not os.listdir(place)  # noqa: PTH208 - names are enough


def same(place: Path) -> Document:
    """Return what a start is given, by the names of the arguments."""
    return {
        "task": "t",
        "graph": counted(place),
        "artifacts": [{"kind": "plan", "text": "p"}, {"id": "mine", "text": "q"}],
        "options": {"max_steps": 4},
    }


DRAWN = {"id": "artifact_" + "0" * 32, "kind": "plan", "text": "p"}
OTHERS: dict[str, tuple[Document, str | None]] = {
    "the same": ({}, None),
    "another task": ({"task": "u"}, "task"),
    "another graph": ({"graph": chain(act=stage())}, "graph"),
    "no artifacts": ({"artifacts": []}, "artifacts"),
    "another text": ({"artifacts": [{"kind": "plan", "text": "z"}]}, "artifacts"),
    "ids and times that are drawn": (
        {"artifacts": [DRAWN, {"id": "mine", "text": "q"}]},
        None,
    ),
    "another id": (
        {"artifacts": [DRAWN, {"id": "his", "text": "q"}]},
        "artifacts",
    ),
    "another lineage": (
        {"artifacts": [DRAWN, {"id": "mine", "text": "q", "lineage": [DRAWN["id"]]}]},
        "artifacts",
    ),
    "more steps": ({"options": {"max_steps": 5}}, "options"),
    "a ceiling": (
        {"options": {"max_steps": 4, "ceiling": {"recursion_limit": 1}}},
        "options",
    ),
    "another tenant": ({"tenant": "other"}, "tenant"),
    "task and options": (
        {"task": "u", "options": {"max_steps": 9}},
        "task, options",
    ),
    "its name": ({"name": "other", "labels": {"a": "b"}}, None),
}


@pytest.mark.parametrize("name", OTHERS)
def test_one_key_is_one_thing(book: Ledger, place: Path, name: str) -> None:
    """Something else is refused, with what differs; nothing is written, nothing is run."""
    change, differs = OTHERS[name]
    first = workflow_execute(book, **same(place), key=KEY)
    size = book.head.size
    given = {**same(place), **change}
    if differs is None:
        assert workflow_execute(book, **given, key=KEY).run_id == first.run_id
    else:
        with pytest.raises(RefusedError) as caught:
            workflow_execute(book, **given, key=KEY)
        assert caught.value.rule == "workflow/other-start"
        assert caught.value.message.endswith(f"differs in: {differs}")
        assert first.run_id in caught.value.message
    assert book.head.size == size
    assert (place / "calls").read_text() == "x"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"key": KEY}, {"options": {"key": KEY}}),
        ({"options": {"key": KEY}}, {"key": KEY}),
        ({"options": {"key": KEY}}, {"options": {"key": KEY}}),
        ({"options": {"key": KEY}}, {"options": {"key": KEY}, "key": KEY}),
    ],
)
def test_argument_and_option_are_one(
    book: Ledger, place: Path, first: Document, second: Document
) -> None:
    """A key is a key, however it is given."""
    runs = [
        workflow_execute(book, "t", counted(place), **one).run_id
        for one in (first, second)
    ]
    assert runs[0] == runs[1]
    assert (place / "calls").read_text() == "x"


def test_two_keys(book: Ledger, place: Path) -> None:
    """Two keys at once are refused."""
    with pytest.raises(UsageError, match="two keys") as caught:
        workflow_execute(book, "t", counted(place), options={"key": "other"}, key=KEY)
    assert caught.value.rule == "workflow/key"
    assert not os.listdir(place)  # noqa: PTH208 - names are enough


class InTheSeries:
    """A program that joins the series of a key, and bears its label."""

    def series_of_run(self, params: object) -> list[str]:
        """Return that series."""
        del params
        return [f"workflow/{KEY}"]

    def __call__(self, run: Run) -> None:
        """State something in it, too."""
        run.record("note.added", {"text": "x"}, series=self.series_of_run(None))


def takes_any(run: Run, **params: object) -> int:
    """Take whatever params a workflow has."""
    del run
    return len(params)


def test_other_programs_answer_no_key(book: Ledger, place: Path) -> None:
    """A run, a fact or a label of somebody else is no start, before the first or later."""
    other = book.execute(InTheSeries(), name="workflow", labels={"workflow_key": KEY})
    book.append("note.added", {"text": "x"}, series=[f"workflow/{KEY}"])
    done = workflow_execute(book, "t", counted(place), key=KEY)
    assert done.run_id != other.run_id
    assert [one.text for one in done.artifacts] == ["call 1"]

    options = {"options": {"key": KEY}, "pins": {}, "graph": {}}
    later = book.execute(
        takes_any,
        params=options,
        labels={"workflow_key": KEY},
    )
    assert later.status == "completed", later.error
    assert workflow_execute(book, "t", counted(place), key=KEY).run_id == done.run_id


def test_a_fork_has_no_key(book: Ledger, place: Path) -> None:
    """A fork of the run of a key is another run, and answers nobody."""
    done = workflow_execute(book, "t", counted(place), key=KEY)
    (ended,) = book.events(run=done.run_id, type="stage.completed")
    fork = book.fork(done.run_id, at=ended.seq)
    assert fork.status == "completed", fork.error
    assert workflow_execute(book, "t", counted(place), key=KEY).run_id == done.run_id


def test_an_erased_start(book: Ledger, place: Path) -> None:
    """What was started with a key stays started, also once it is not known what it was."""
    done = workflow_execute(book, "t", counted(place), key=KEY)
    book.erase(done.run_id, reason="asked for")
    again = workflow_execute(book, "another task", counted(place), key=KEY)
    assert (again.run_id, again.status) == (done.run_id, "completed")


def test_where_starts_cannot_be_counted(tmp_path: Path, place: Path) -> None:
    """A ledger of an edition without series refuses a key, for it could not keep it."""
    kept = first_edition("kernel", tmp_path)
    with Ledger.open(kept.path, plugins=("workflow",)) as old:
        size = old.head.size
        with pytest.raises(RefusedError, match="workflow/no-series"):
            workflow_execute(old, "t", counted(place), key=KEY)
        assert old.head.size == size
