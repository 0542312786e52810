"""A tree of runs, killed at any commit, comes to the same and does nothing twice.

Rules: parent, child and grandchild have effects, facts, a timer each; the child pauses,
which pauses its parent. Whoever is killed may be in any of them, before the pause or after
it. `make trial` kills at every commit; the suite at 30 that a seed chooses, which are of
every event type.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from functools import cache
from typing import Any

import pytest

from calling_programs import ANSWERS, below, noted
from children import is_killed
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment.verification.verify import verify
from steps import facts_of

EVERY = bool(os.environ.get("MUNIMENT_TRIAL"))
COMMITS = 40
"""How many commits the tree takes before the one that ends it."""
SEED, MOST = "5eed", 30


def grandchild(run: Run, number: int) -> object:
    """Wait a moment between two effects."""
    first = run.effect("data", number, noted)
    run.sleep(0.001)
    return [first, run.effect("data", number + 1, noted)]


def child(run: Run, number: int) -> object:
    """Call another run, pause, and call it again."""
    first = run.call(grandchild, {"number": number + 10})
    run.record("note.added", {"text": f"between {number}"})
    run.pause("until Monday")
    run.sleep(0.001)
    second = run.effect("data", number, noted)
    return [first, second, run.call(grandchild, {"number": number + 20}), run.random()]


def tree(run: Run) -> object:
    """Call a child between effects and timers of one's own."""
    first = run.effect("data", 1, noted)
    run.sleep(0.001)
    middle = run.call(child, {"number": 100})
    run.record("note.added", {"text": "after the child"})
    return [first, middle, run.effect("data", 2, noted)]


def go_on(ledger: Ledger, run: str) -> Any:
    """Resume until nothing pauses any more; return how it ended."""
    done = ledger.resume(run, tree)
    while done.status == "paused":
        done = ledger.resume(run, tree)
    return done


def cut(ledger: Ledger, commit: int) -> bool:
    """Run the tree to its end in a process that dies after that commit, if it has it."""

    def live(opened: Ledger) -> None:
        go_on(opened, opened.execute(tree, seed=SEED).run_id)

    return is_killed(ledger.path, live, commit)


def performed(ledger: Ledger) -> list[object]:
    """Return what each completed effect of any run answered."""
    done = ledger.events(type="data.completed")
    return [ledger.resolve(one)["value"] for one in done]


@cache
def positions() -> list[int]:
    """Return after which commits to kill: all, or so many as a seed chooses."""
    dice = random.Random(SEED)  # noqa: S311 - a test's
    return sorted(range(COMMITS) if EVERY else dice.sample(range(COMMITS), MOST))


@pytest.mark.parametrize("commit", positions())
def test_killed_in_a_tree(ledger: Ledger, commit: int) -> None:
    """A resume ends with the same result and digest; what completed is not done again."""
    assert cut(ledger, commit)
    before = performed(ledger)
    root = str(next(ledger.events(type="run.started")).run)
    ANSWERS.clear()
    resumed = go_on(ledger, root)
    again = [*ANSWERS]
    every = performed(ledger)
    assert Counter(every).most_common(1)[0][1] == 1
    assert Counter(again) == Counter(every) - Counter(before)
    (low,) = below(ledger, root)
    runs = [root, low, *below(ledger, low)]
    assert len(runs) == len(list(ledger.events(type="run.started"))) == 4
    assert {facts_of(ledger, run).status for run in runs} == {"completed"}
    report = replay(ledger, root, tree, children=True)
    assert (report.verdict, report.children) == ("acceptable", 3)
    assert verify(ledger.path, home=ledger.home).ok
    whole = ledger.execute(tree, seed=SEED)
    expected = go_on(ledger, whole.run_id)
    assert (resumed.result, resumed.result_digest) == (
        expected.result,
        expected.result_digest,
    )


def test_there_are_no_more_commits(ledger: Ledger) -> None:
    """Beyond the positions is only the last commit; they are of every event type."""
    reached: list[str] = []

    def step(name: str) -> None:
        if name == "committed":
            (last,) = ledger.events(order="desc", limit=1)
            reached.append(last.type)

    ledger.store.step = step
    assert go_on(ledger, ledger.execute(tree, seed=SEED).run_id).ok
    assert len(reached) == COMMITS + 1
    assert {reached[one] for one in positions()} == {*reached}
