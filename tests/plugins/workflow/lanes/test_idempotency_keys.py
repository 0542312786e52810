"""Handlers can tell the outside world that an attempt is the same, wherever they run.

Rules: the key is equal for all attempts within a visit, whoever makes them again: a retry,
a resume, another executor. It differs between visits, branches, items and nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from children import is_killed
from muniment import current_run
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment.runs.lanes.elsewhere import lane_elsewhere, told_lane
from muniment_plugins.workflow import workflow_execute
from workflow_stages import Document, chain, edge, graph_of

EXECUTORS = ["threads", "serial", "processes", "dask"]


def node(name: str, file: Path, **more: object) -> Document:
    """Return a node with a handler of `keyed_handlers` that writes to *file*."""
    said = {"file": str(file), **more.pop("metadata", {})}  # type: ignore[dict-item]
    return {"handler": f"keyed_handlers:{name}", "metadata": said, **more}


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", ["notes", "notes_later"])
def test_attempts_share_a_key(
    book: Ledger, tmp_path: Path, executor: str, name: str
) -> None:
    """Three attempts of one visit have one key; the next node has another."""
    keys = tmp_path / "keys"
    tried = {"retry_policy": {"max_attempts": 3}, "metadata": {"fails": 2}}
    graph = chain(pay=node(name, keys, **tried), ship=node(name, keys))
    done = workflow_execute(book, "t", graph, [], {"executor": executor})

    assert done.status == "completed", done.error
    known = keys.read_text().split()
    assert len(known) == 4
    assert len(set(known[:3])) == 1
    assert known[3] not in known[:3]
    assert all(len(one) == 64 for one in known)


def test_visits_branches_and_items_have_keys_of_their_own(
    book: Ledger, tmp_path: Path
) -> None:
    """Equal work at another place of a graph is another work."""
    keys = tmp_path / "keys"
    many = node("notes", keys, kind="map", map_policy={"items": [1, 1, 1]})
    graph = graph_of(
        {
            "fork": {"kind": "fork"},
            "a": node("notes", keys),
            "many": many,
            "meet": {"kind": "join"},
            "loop": node("twice", keys, max_visits=2),
        },
        edge("fork", "a"),
        edge("fork", "many"),
        edge("a", "meet"),
        edge("many", "meet"),
        edge("meet", "loop"),
        edge("loop", "loop", "failed"),
    )
    done = workflow_execute(book, "t", graph)

    assert done.status == "completed", done.error
    known = keys.read_text().split()
    assert len(known) == len(set(known)) == 6


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_a_resume_has_the_key_of_the_first_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executor: str
) -> None:
    """Whoever is killed before the second attempt makes it under the key of the first."""
    monkeypatch.chdir(tmp_path)
    keys, place = tmp_path / "keys", tmp_path / "l.db"
    tried = {"retry_policy": {"max_attempts": 3}, "metadata": {"fails": 1}}
    graph = chain(pay=node("notes", keys, **tried))
    Ledger.create(
        place, home=tmp_path / "home", plugins=("workflow", "executors")
    ).close()

    def act(opened: Ledger) -> object:
        return workflow_execute(opened, "t", graph, [], {"executor": executor})

    assert is_killed(place, act, 3, plugins=("workflow", "executors"))
    before = keys.read_text().split()
    with Ledger.open(place, plugins=("workflow", "executors")) as ledger:
        (run,) = ledger.runs()
        done = ledger.resume(run.id)
        assert done.status == "completed", done.error
    known = keys.read_text().split()
    assert (len(known), len(before)) == (2, 1)
    assert len(set(known)) == 1


@pytest.mark.parametrize("executor", EXECUTORS)
def test_the_key_reaches_threads_of_a_handler(
    book: Ledger, tmp_path: Path, executor: str
) -> None:
    """What a handler submits to a pool of threads has its key, and its run's id."""
    done = workflow_execute(
        book,
        "t",
        chain(act=node("in_pool", tmp_path / "keys")),
        [],
        {"executor": executor},
    )
    assert done.artifacts[0].data == [True, True, done.run_id]


def test_elsewhere_nothing_is_recorded(book: Ledger) -> None:
    """A lane that another process records has the key, and refuses everything else."""
    told: list[object] = []
    with book.run("r") as run:
        run.effect("data", 1, lambda _: told.append(told_lane()))
        assert told_lane() is None
    (lane,) = told
    assert isinstance(lane, dict)
    with lane_elsewhere(lane):
        here = current_run()
        assert (here.id, here.idempotency_key) == (lane["run"], lane["key"])
        acts: tuple[Callable[[], object], ...] = (
            lambda: here.record("note", {}),
            lambda: here.effect("data", 1, lambda _: 1),
            here.now,
            lambda: here.scope("x"),
            lambda: here.sleep(1),
            lambda: here.mode,
        )
        for act in acts:
            with pytest.raises(RefusedError, match="its own process") as refused:
                act()
            assert refused.value.rule == "run/process"


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_elsewhere_what_ends_a_process_is_what_is_raised(
    book: Ledger, error: type[BaseException]
) -> None:
    """A lane that another process records hides no exit, and no Ctrl-C."""
    told: list[object] = []
    with book.run("r") as run:
        run.effect("data", 1, lambda _: told.append(told_lane()))
    (lane,) = told
    assert isinstance(lane, dict)
    with pytest.raises(error), lane_elsewhere(lane):
        raise error
