"""The repair agent of the examples under a policy: halted, killed, forked, and judged.

What was asked is counted by the provider, in a file that outlives every process.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from governed_repairs import (
    LEDGER,
    TOKENS,
    agent_of,
    asked,
    begin,
    lay_out,
    limits,
    opened,
    resume,
)
from muniment import replay, verify
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment_plugins.evals import eval_suite_run
from muniment_plugins.workflow import run_record

MENDS, REVIEWS = 6, 2
"""How often the models of the scripts are asked until all is done."""
ALL = MENDS + REVIEWS
TURN = sum(TOKENS.values())
SUITE: dict[str, Any] = {
    "version": 1,
    "id": "repairs",
    "rubrics": [
        {
            "id": "mended",
            "assertions": [
                {"kind": "run-status", "expected": "completed"},
                {"kind": "stage-status", "stage": "verify", "expected": "completed"},
            ],
        }
    ],
    "cases": [
        {
            "id": "mended",
            "rubrics": ["mended"],
            "thresholds": {"max_tokens": ALL * TURN},
        }
    ],
}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Give a folder with the agent, and with what it mends."""
    place = tmp_path / "desk"
    lay_out(place)
    return place


@pytest.fixture
def here(work: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Stand in that folder, where the agent can be imported."""
    monkeypatch.chdir(work)
    monkeypatch.syspath_prepend(str(agent_of(work)))
    yield work
    for name in [*sys.modules]:
        file = getattr(sys.modules[name], "__file__", None)
        if file is not None and Path(file).is_relative_to(agent_of(work)):
            del sys.modules[name]


def one_run(ledger: Ledger) -> str:
    """Return the id of the only run that is no fork and no eval."""
    found = [one.id for one in ledger.runs() if one.name == "repair" and not one.fork]
    (run,) = found
    return run


@pytest.mark.parametrize(
    ("policy", "questions"),
    [
        (limits({"llm": 4}), 4),
        (limits({"tool": 3}), 3),
        (limits({}, token_limit=3 * TURN), 3),
    ],
    ids=["questions", "tools", "tokens"],
)
def test_it_halts_before_the_effect(
    work: Path, policy: dict[str, Any], questions: int
) -> None:
    """The provider is not asked beyond the budget; no resume asks it; it replays."""
    done = begin(work, policy)
    assert done.stdout.startswith("failed"), done.stderr
    assert "is spent" in done.stdout
    assert len(asked(work)) == questions
    again = resume(work)
    assert "nobody has amended its policy" in again.stderr
    assert len(asked(work)) == questions
    with opened(work) as ledger:
        assert replay(ledger, one_run(ledger)).verdict == "acceptable"
    assert len(asked(work)) == questions


def test_a_fallback_hands_over(work: Path) -> None:
    """What answers instead of the model is told as such; the tests find that nothing is done."""
    policy = limits({"llm": 2}, exhaustion_action="degrade")
    policy["execution_budget"]["fallback"] = {"answer": {"text": "I have no budget."}}
    done = begin(work, policy)
    assert done.stdout.startswith("failed"), done.stderr
    assert len(asked(work)) == 2
    with opened(work) as ledger:
        run = one_run(ledger)
        degraded = [*ledger.events(run=run, type="effect.degraded")]
        assert len(degraded) >= 1
        stages = {one["id"]: one for one in run_record(ledger, run)["stages"]}
        assert {one["who"] for one in stages["mend.1"]["answered"]} == {"plugin"}
        assert replay(ledger, run).verdict == "acceptable"


@pytest.mark.slow
@pytest.mark.parametrize("killed_at", [1, 3, MENDS, ALL])
def test_a_kill_wins_no_budget(work: Path, killed_at: int) -> None:
    """A question that a kill cut off was asked, and counts; the next process has the rest."""
    killed = begin(work, limits({"llm": ALL + 1}), killed_at)
    assert killed.returncode == -signal.SIGKILL
    assert len(asked(work)) == killed_at
    done = resume(work)
    assert done.stdout.startswith("completed"), done.stdout + done.stderr
    assert len(asked(work)) == ALL + 1  # the one that was cut off is asked again
    assert verify(work / LEDGER, home=work.parent / "home").ok


@pytest.mark.slow
@pytest.mark.parametrize("killed_at", [1, 3, MENDS])
def test_a_killed_run_halts_where_it_would_have(work: Path, killed_at: int) -> None:
    """Over both processes no more is asked than the budget has."""
    budget = MENDS
    begin(work, limits({"llm": budget}), killed_at)
    done = resume(work)
    assert done.stdout.startswith("failed"), done.stdout + done.stderr
    assert len(asked(work)) == budget
    assert "nobody has amended" in resume(work).stderr
    assert len(asked(work)) == budget


def forked(ledger: Ledger, run: str, work: Path) -> Any:
    """Fork *run* at its first turn, with a model that says it is done, and is not."""
    lazy = [
        {
            "turn": 1,
            "tool_calls": [{"id": "a", "name": "run_tests", "arguments": {}}],
        },
        {"turn": 2, "text": "It was right before."},
    ]
    (work / "lazy.json").write_text(json.dumps(lazy))
    first = next(ledger.events(run=run, type="agent.turn.completed"))
    changes = {first.seq: "scripted:lazy.json"}
    return ledger.fork(run, at=first.seq, changes=changes)


def test_a_fork_by_another_model_is_judged(here: Path) -> None:
    """An eval finds it worse, since it takes more for the same; its verdict replays."""
    before = (here / "prices.py").read_text()
    done = begin(here, limits({"llm": 2 * ALL}))
    assert done.stdout.startswith("completed"), done.stdout + done.stderr
    (here / "prices.py").write_text(before)
    with opened(here) as ledger:
        run = one_run(ledger)
        fork = forked(ledger, run, here)
        assert fork.status == "completed", fork.error
        # The tests refuse what it says; the second visit of the node is its own model's.
        late = ["lazy.json"] * 2 + ["mend.json"] * MENDS + ["review.json"] * REVIEWS
        assert asked(here)[ALL:] == late
        found = eval_suite_run(ledger, SUITE, [fork.run_id], [run])
        both = found["comparison"]
        assert (both["worse"], both["better"], both["pairs"]) == (1, 0, 1)
        assert (both["verdict"], both["p_value"]) == ("undecided", 1.0)
        assert found["exit_code"] == 1
        verdicts = {one["run_id"]: one["verdict"] for one in found["cases"]}
        assert verdicts == {run: "passed", fork.run_id: "failed"}
        tokens = both["numbers"]["tokens"]
        assert (tokens["older_mean"], tokens["newer_mean"]) == (
            ALL * TURN,
            (ALL + 2) * TURN,
        )
        other = eval_suite_run(ledger, SUITE, [run], [fork.run_id])
        assert (other["comparison"]["better"], other["exit_code"]) == (1, 0)
        shown = eval_suite_run(ledger, SUITE, [fork.run_id], [run], fail_on="shown")
        assert shown["exit_code"] == 0  # one pair shows nothing
        assert replay(ledger, found["eval_run_id"]).verdict == "acceptable"


def test_a_fork_has_what_its_origin_left(here: Path) -> None:
    """What was spent before the event is spent; the fork halts where its budget ends."""
    before = (here / "prices.py").read_text()
    done = begin(here, limits({"llm": ALL}))
    assert done.stdout.startswith("completed"), done.stdout + done.stderr
    (here / "prices.py").write_text(before)
    with opened(here) as ledger:
        run = one_run(ledger)
        third = [*ledger.events(run=run, type="agent.turn.completed")][2]
        (here / "endless.json").write_text(
            json.dumps(
                [
                    {
                        "turn": turn,
                        "tool_calls": [
                            {"id": "a", "name": "read", "arguments": {"path": name}}
                        ],
                    }
                    for turn, name in enumerate(["prices.py", "cases.json"] * 8, 1)
                ]
            )
        )
        changes = {third.seq: "scripted:endless.json"}
        fork = ledger.fork(run, at=third.seq, changes=changes)
        assert fork.status == "failed"
        assert f"effect_limits.llm: {ALL} of {ALL} is spent" in str(fork.error)
        assert asked(here)[ALL:] == ["endless.json"] * (ALL - 2)
        with pytest.raises(RefusedError):
            ledger.resume(fork.run_id)
        assert len(asked(here)) == 2 * ALL - 2
