"""A graph that is killed at any commit comes to the same, and does nothing twice.

Rules: the graph has thirty nodes: a condition, forks, a map in a map, joins, retries, a
loop, subagents three deep, and a decision of two people. Whoever is killed may be anywhere
in it, once or twice. `make trial` kills at every commit; the suite at 30 that a seed
chooses, which are of every event type.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import large_graph
from children import is_killed
from deciding import approver, key, signed
from muniment import replay, verify
from muniment.ledger import Ledger
from muniment.runs.execution import Done
from muniment_plugins.workflow import workflow_execute

EVERY = bool(os.environ.get("MUNIMENT_TRIAL"))
SEED, MOST = "5eed", 30
PLUGINS = ("workflow",)
COMMITS, WITHOUT = 62, 50
"""How many commits the graph takes at least, with people and without."""

pytestmark = pytest.mark.slow


def decide(ledger: Ledger) -> None:
    """Let both people approve what is asked."""
    for name in ("ann", "bob"):
        for pending in ledger.pending():
            answered = {one.key for one in pending.answers}
            if key(name).public.keyid not in answered:
                ledger.answer(signed(pending, key(name)))


def go_on(ledger: Ledger, done: Done) -> Done:
    """Decide and resume until nothing waits any more."""
    while done.status == "paused":
        decide(ledger)
        done = ledger.resume(done.run_id)
    return done


def begin(ledger: Ledger, *, asks: bool = True) -> Done:
    """Run the graph until it waits, or to its end if it *asks* nobody."""
    graph = large_graph.LARGE if asks else large_graph.UNDECIDED
    return workflow_execute(ledger, "ship it", graph, seed=SEED).done


def cut(ledger: Ledger, commit: int, *, asks: bool) -> bool:
    """Run the graph to its end in a process that dies after that commit."""
    return is_killed(
        ledger.path,
        lambda opened: go_on(opened, begin(opened, asks=asks)),
        commit,
        plugins=PLUGINS,
    )


def performed(ledger: Ledger) -> Counter[str]:
    """Return how often each stage of any run completed, by scope and request."""
    done = ledger.events(type="stage.completed")
    return Counter(f"{one.run} {one.scope}" for one in done)


@cache
def positions() -> list[int]:
    """Return after which commits to kill: all, or so many as a seed chooses."""
    dice = random.Random(SEED)  # noqa: S311 - a test's
    asked = range(WITHOUT, COMMITS)  # where people decide
    some = [*dice.sample(range(WITHOUT), MOST - len(asked)), *asked]
    return sorted(range(COMMITS) if EVERY else some)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def shelf(desk: Path) -> Iterator[Ledger]:
    """Give a ledger with workflows, and two people who may approve."""
    where, home = desk / "ledger.db", desk / "home"
    with Ledger.create(where, home=home, plugins=PLUGINS) as made:
        for name in ("ann", "bob"):
            approver(made, name)
        yield made


@pytest.mark.parametrize("commit", positions())
def test_killed_in_a_graph(shelf: Ledger, commit: int) -> None:
    """A resume ends with the same result and digest; what completed is not done again."""
    asks = bool(commit % 2) or commit >= WITHOUT
    assert cut(shelf, commit, asks=asks)
    if (
        commit % 3 == 0 and commit < WITHOUT
    ):  # killed in its resume, too, if it comes that far
        is_killed(
            shelf.path,
            lambda opened: go_on(opened, opened.resume(root_of(opened))),
            commit % 4,
            plugins=PLUGINS,
        )
    root = root_of(shelf)
    done = go_on(shelf, shelf.resume(root))
    assert done.status == "completed", done.error

    assert max(performed(shelf).values()) == 1
    runs = [one.id for one in shelf.runs()]
    assert len(runs) == 4
    report = replay(shelf, root, children=True)
    assert (report.verdict, report.children) == ("acceptable", 3)
    assert verify(shelf.path, home=shelf.home).ok

    whole = go_on(shelf, begin(shelf, asks=asks))
    assert done.result == whole.result
    if not asks:  # signatures are different in each run
        assert done.result_digest == whole.result_digest


def root_of(ledger: Ledger) -> str:
    """Return the run that began first."""
    return str(next(ledger.events(type="run.started")).run)


def test_it_is_large() -> None:
    """The graph has thirty nodes, with those in its maps and subagents."""
    assert large_graph.nodes_in(large_graph.LARGE) >= 30


def test_positions_reach_every_type(shelf: Ledger) -> None:
    """The commits at which it is killed are of every event type that commits end with."""
    reached: list[str] = []

    def step(name: str) -> None:
        if name == "committed":
            (last,) = shelf.events(order="desc", limit=1)
            reached.append(last.type)

    shelf.store.step = step
    assert go_on(shelf, begin(shelf)).ok
    assert len(reached) > COMMITS
    assert {reached[one] for one in positions()} >= {*reached[:-1]} - {"checkpoint"}
