"""Forks beside their origins: a label does not mean them, and what they took is counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_tools import Model, calls, tools
from muniment import replay
from muniment.errors import UsageError
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment_plugins.evals import eval_suite_run
from muniment_plugins.workflow import run_record, workflow_execute

SCRIPT = {
    1: calls(("read", {"path": "a"})),
    2: calls(("read", {"path": "b"})),
    3: "Ok.",
}
USAGE = {"usage": {"input_tokens": 90, "output_tokens": 10}}
SUITE: dict[str, Any] = {
    "version": 1,
    "id": "ok",
    "rubrics": [
        {"id": "r", "assertions": [{"kind": "run-status", "expected": "completed"}]}
    ],
    "cases": [{"id": "c", "rubrics": ["r"]}],
}


@pytest.fixture
def library(tmp_path: Path, place: Path) -> Iterator[Ledger]:
    """Give a ledger whose model says what it took."""
    del place
    plugins = Plugins(
        ("workflow", "evals"), extra={"model": Model(SCRIPT, usage=USAGE)}
    )
    where = tmp_path / "ledger.db"
    with Ledger.create(where, home=tmp_path / "home", plugins=plugins) as made:
        yield made


def looped(book: Ledger, case: str) -> str:
    """Run a loop of three turns; return the run."""
    policy = {"model": "test:a"}
    graph = {
        "nodes": {"act": {"mode": "agent", "tools": tools(), "model_policy": policy}}
    }
    labels = {"model": "a", "case": case}
    return workflow_execute(book, "x", graph, labels=labels).run_id


def forked(book: Ledger, run: str, turn: int) -> str:
    """Fork a run at one of its turns, with another model; return the fork."""
    chosen = [*book.events(run=run, type="agent.turn.completed")][turn - 1]
    return book.fork(run, at=chosen.seq, changes={chosen.seq: "test:b"}).run_id


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_what_the_origin_answered_is_counted(library: Ledger, turn: int) -> None:
    """A fork that does the same costs the same, wherever it begins; its own part is told."""
    run = looped(library, "one")
    fork = forked(library, run, turn)
    record = run_record(library, fork)
    assert record["usage"]["input_tokens"] == 90 * (4 - turn)
    answered = record.get("answered_usage", {"input_tokens": 0, "call_count": 0})
    assert (answered["input_tokens"], answered["call_count"]) == (
        90 * (turn - 1),
        turn - 1,
    )
    assert "answered_usage" not in run_record(library, run)
    found = eval_suite_run(library, SUITE, [fork], [run])
    tokens = found["comparison"]["numbers"]["tokens"]
    assert (tokens["older_mean"], tokens["newer_mean"]) == (300.0, 300.0)
    tight = {
        **SUITE,
        "cases": [{**SUITE["cases"][0], "thresholds": {"max_tokens": 299}}],
    }
    assert eval_suite_run(library, tight, [fork])["verdict"] == "failed"
    enough = {
        **SUITE,
        "cases": [{**SUITE["cases"][0], "thresholds": {"max_tokens": 300}}],
    }
    assert eval_suite_run(library, enough, [fork])["verdict"] == "passed"


def test_a_label_does_not_mean_forks(library: Ledger) -> None:
    """They have the labels of their origins, and another model; pairs are by the case."""
    runs = [looped(library, case) for case in ("one", "two")]
    forks = [forked(library, run, 1) for run in runs]
    found = eval_suite_run(library, SUITE, forks, ["model=a"])
    assert found["comparison"]["pairs"] == 2
    assert {one["run_id"] for one in found["cases"]} == {*runs, *forks}
    alone = eval_suite_run(library, SUITE, ["model=a"])
    assert [one["run_id"] for one in alone["cases"]] == sorted(runs)
    assert replay(library, found["eval_run_id"]).verdict == "acceptable"


def test_a_run_is_no_better_than_itself(library: Ledger) -> None:
    """The same run on both sides is refused, however it is named."""
    run = looped(library, "one")
    with pytest.raises(UsageError) as error:
        eval_suite_run(library, SUITE, [run], ["model=a"])
    assert error.value.rule == "evals/one-side"
