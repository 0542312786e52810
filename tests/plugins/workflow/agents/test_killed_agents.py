"""A loop that is killed at any commit comes to the same, and does nothing twice.

Rules: the loop reads, writes several files at once, is told what is wrong, asks people, and
answers with a value. `make trial` kills at every commit; the suite at those that a seed
chooses, which are of every event type.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_tools import Model, calls, performed, tools
from children import is_killed
from deciding import approver, key, signed
from muniment import replay, verify
from muniment.errors import EffectInDoubt
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.runs.execution import Done
from muniment_plugins.workflow import run_record, workflow_execute

EVERY = bool(os.environ.get("MUNIMENT_TRIAL"))
SEED, MOST = "5eed", 24

SCRIPT = {
    1: calls(("read", {"path": "a"}), ("read", {"path": "b"}), ("raed", {})),
    2: calls(("edit", {"path": "a", "text": "x"}), ("read", {"path": "c"})),
    3: calls(("burst", {"why": "no"}), ("edit", {"path": "d", "text": "y"})),
    4: "four",
    5: '{"n": 4}',
}
POLICY = {"auto_approve": ["burst"], "require_approval": ["edit"]}
NODE = {
    "mode": "agent",
    "model_policy": {"model": "test:a"},
    "approval_policy": POLICY,
    "output_contract": {"schema": {"type": "object", "required": ["n"]}},
}

pytestmark = pytest.mark.slow


def plugins() -> Plugins:
    """Return plugins with the model, which a killed process takes nothing of along."""
    return Plugins(("workflow",), extra={"model": Model(SCRIPT)})


def begin(ledger: Ledger) -> Done:
    """Run the graph of the one loop until it waits."""
    graph = {"nodes": {"act": {**NODE, "tools": tools()}}}
    return workflow_execute(ledger, "mend it", graph, seed=SEED).done


def go_on(ledger: Ledger, done: Done) -> Done:
    """Approve and resume until nothing waits any more."""
    while done.status == "paused":
        for pending in ledger.pending():
            ledger.answer(signed(pending, key("ann")))
        done = resumed(ledger, done.run_id)
    return done


def resumed(ledger: Ledger, run: str) -> Done:
    """Resume; a call that writes and is in doubt is repeated only because that is said."""
    try:
        return ledger.resume(run)
    except EffectInDoubt:
        return ledger.resume(run, repeat=["tool"])


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    """Give a ledger with the model, and somebody who may approve."""
    monkeypatch.chdir(tmp_path)
    where, home = tmp_path / "ledger.db", tmp_path / "home"
    with Ledger.create(where, home=home, plugins=plugins()) as made:
        approver(made, "ann")
        yield made


COMMITS, LAST = 42, 5
"""How many commits the loop takes at least, with people; and those at its end."""
CALLS = range(29, 33)
"""Those of two calls at once, of which one fails: either may come to its end first."""


def positions() -> list[int]:
    """Return after which commits to kill."""
    dice = random.Random(SEED)  # noqa: S311 - a test's
    end = range(COMMITS - LAST, COMMITS)
    some = {*dice.sample(range(COMMITS - LAST), MOST - LAST), *CALLS, *end}
    return sorted(range(COMMITS) if EVERY else some)


@pytest.mark.parametrize("commit", positions())
def test_killed_in_a_loop(shelf: Ledger, commit: int) -> None:
    """A resume ends with the same value; what completed is not done again."""
    assert is_killed(
        shelf.path,
        lambda opened: go_on(opened, begin(opened)),
        commit,
        plugins=plugins(),  # type: ignore[arg-type]
    )
    root = str(next(shelf.events(type="run.started")).run)
    done = go_on(shelf, resumed(shelf, root))
    assert done.status == "completed", done.error

    for kind in ("llm", "tool", "agent.turn"):
        ended = Counter(
            (one.scope, one.ordinal)
            for verb in ("completed", "failed")
            for one in shelf.events(run=root, type=f"{kind}.{verb}")
        )
        assert max(ended.values()) == 1, kind
    doubtful = 2  # the calls of one answer that were under way when it was killed
    counted = Counter(performed())
    assert sum(counted.values()) - len(counted) <= doubtful
    before = performed()
    assert replay(shelf, root).verdict == "acceptable"
    assert performed() == before
    assert verify(shelf.path, home=shelf.home).ok

    whole = go_on(shelf, begin(shelf))
    assert done.result == whole.result
    theirs: Any = run_record(shelf, root)["stages"][0]["agent"]
    ours: Any = run_record(shelf, whole.run_id)["stages"][0]["agent"]
    assert shown(theirs) == shown(ours)


def shown(record: Any) -> Any:
    """Return what a record of a loop says that differs neither by time nor by position."""
    if isinstance(record, list):
        return [shown(one) for one in record]
    if not isinstance(record, dict):
        return record
    varying = ("event", "question", "started_at", "answered_at")
    return {name: shown(one) for name, one in record.items() if name not in varying}


def test_positions_reach_every_type(shelf: Ledger) -> None:
    """The commits at which it is killed are of every event type that commits end with."""
    reached: list[str] = []

    def step(name: str) -> None:
        if name == "committed":
            (last,) = shelf.events(order="desc", limit=1)
            reached.append(last.type)

    shelf.store.step = step
    assert go_on(shelf, begin(shelf)).ok
    assert len(reached) > COMMITS, len(reached)
    assert {reached[one] for one in positions()} >= {*reached[:-1]} - {"checkpoint"}
