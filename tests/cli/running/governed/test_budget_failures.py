"""A run that its budget halted is explained, and shows what it has spent."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from failure_desk import PROGRAM, FailureDesk, flat, policy
from muniment_cli.views.explaining.failure_words import answerer
from programs import write_program


@pytest.fixture
def desk(made: Path, shell: Any, work: Path) -> FailureDesk:
    """Sit at a ledger with the program beside it."""
    assert made.exists()
    return FailureDesk(shell, write_program(work, PROGRAM))


@pytest.mark.parametrize("program", ["wordy", "deaf"])
def test_a_budget_that_halts_says_which_and_how_much(
    desk: FailureDesk, work: Path, program: str
) -> None:
    """The reason is the budget, also of a program that swallowed it.

    No resume is advised, since it would be refused: an amendment is.
    """
    file = policy(
        work,
        entropy_budget={
            "allowed_sources": ["external_oracle"],
            "max_magnitude": "high",
            "max_count": 3,
        },
    )
    run, code = desk.run(program, "--policy", file)
    assert desk.reason(run) == ("authority", "budget_exhausted", "budget.exhausted")
    assert code == 1
    told = desk.explained(run)
    assert told["facts"]["budget"] == "policy, max_count: 3 of 3 effects are spent"
    assert told["facts"]["answered by"] == (
        "the plugin governance 0.1.0, which halts the run"
    )
    assert f"`muniment amend {run} POLICY`" in told["facts"]["to resume"]
    assert not any("muniment resume" in one["command"] for one in told["next"])
    resumed = desk.shell("resume", run, "--program", f"{desk.file.name}:{program}")
    assert (resumed.code, "run/plugin" in resumed.err) == (4, True)
    assert desk.shell("replay", run).code == 0


def test_a_budget_is_a_table(desk: FailureDesk, work: Path) -> None:
    """`runs show` prints whose limit, what is spent of it, and what happens then.

    So it does where the plugin may not load, and as JSON.
    """
    file = policy(
        work, execution_budget={"token_limit": 12, "effect_limits": {"llm": 9}}
    )
    run, _ = desk.run("wordy", "--policy", file)
    budget = desk.shell("runs", "show", run, "--json").json["budget"]
    assert (budget["run"], budget["policy"], budget["mode"]) == (run, "tested", "live")
    expected = [
        ("policy", "effect_limits.llm", 3, 9, "halt", 0),
        ("policy", "token_limit", 15, 12, "halt", 0),
    ]
    assert [tuple(row.values()) for row in budget["rows"]] == expected
    for plugins in ("governance", "none"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MUNIMENT_PLUGINS", plugins)
            out = flat(desk.shell("runs", "show", run).out)
            assert desk.reason(run)[1] == "budget_exhausted"
        assert f"policy tested, {budget['digest']}, live" in out
        assert "policy token_limit 15 12 halt" in out
    assert f"{run} failed by budget" in flat(desk.shell("runs").out)


def test_marks_are_beside_the_status(desk: FailureDesk, work: Path) -> None:
    """A marked run is seen in the list; shown and explained, it says why."""
    limit = {"effect_limit": 1, "exhaustion_action": "mark_non_certifiable"}
    run, code = desk.run("wordy", "--policy", policy(work, execution_budget=limit))
    assert code == 0
    assert f"{run} completed marked" in flat(desk.shell("runs").out)
    why = "non_certifiable: policy, effect_limit: 1 of 1 is spent"
    assert f"marked {why}" in flat(desk.shell("runs", "show", run).out)
    told = desk.shell("runs", "explain", run, "--json").json
    assert told["facts"]["marked"] == why
    assert [one["mark"] for one in told["marks"]] == ["non_certifiable"]


@pytest.mark.parametrize(
    ("members", "code"),
    [
        (
            {"entropy_budget": {"allowed_sources": ["data"], "max_magnitude": "high"}},
            "source_not_allowed",
        ),
        (
            {
                "nondeterminism_intent": [
                    {
                        "source": "retrieval",
                        "min_entropy_magnitude": "low",
                        "max_entropy_magnitude": "high",
                        "justification": "the corpus",
                    }
                ]
            },
            "nondeterminism_undeclared",
        ),
    ],
)
def test_what_was_never_allowed_is_not_used_up(
    desk: FailureDesk, work: Path, members: Mapping[str, object], code: str
) -> None:
    """A source that is not listed has its own reason, and so has a lacking intent."""
    run, exit_code = desk.run("wordy", "--policy", policy(work, **members))
    assert desk.reason(run)[1:] == (code, "budget.exhausted")
    assert exit_code == 1


def test_a_fallback_is_said_in_words(desk: FailureDesk, work: Path) -> None:
    """Who answered is a sentence, in an explanation and for a failure alike."""
    by: dict[str, Any] = {"who": "plugin", "name": "governance", "version": "0.1.0"}
    by["fallback"] = "skip"
    assert answerer(by) == "its fallback skip, by the plugin governance 0.1.0"
    run, _ = desk.run(
        "wordy",
        "--policy",
        policy(work, execution_budget={"effect_limit": 1}),
    )
    assert "True" not in desk.shell("runs", "explain", run).out
