"""Fixtures, evals and differences of runs: what the original promised, and did not hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from letters import letter, looped, run_letter
from muniment import Run, replay, verify
from muniment.errors import UsageError
from muniment.ledger import Ledger
from muniment_plugins.evals import (
    eval_suite_manifest,
    eval_suite_run,
    run_record_diff,
    run_record_eval,
    run_record_eval_suite,
    run_record_fixture,
)
from muniment_plugins.evals.vocabulary import TYPES
from muniment_plugins.workflow import run_record


def test_b14_a_looped_run_passes_its_own_fixture(book: Ledger) -> None:
    """Visits are stages of their own; that a run is as itself proves nothing, and says so."""
    run = run_letter(book, looped())
    fixture = run_record_fixture(book, run)
    visits = [(one["node_id"], one["visit"]) for one in fixture["stage_assertions"]]
    assert visits[:4] == [("draft", 1), ("check", 1), ("draft", 2), ("check", 2)]
    for given in (fixture, None):
        found = run_record_eval(book, run, given)
        assert (found["pass"], found["failures"]) == (True, [])
        assert (found["self_derived"], found["proves"]) == (True, 0)
        assert (found["verdict"], found["exit_code"]) == ("cannot_tell", 3)
        assert "proves nothing" in found["undecided"][0]
        assert sum(found["compared"].values()) > 20
    other = run_record_eval(book, run_letter(book, looped()), fixture)
    assert (other["verdict"], other["failures"]) == ("passed", [])
    assert "self_derived" not in other


def test_b15_equal_runs_at_two_paths(
    book: Ledger, other_book: Ledger, place: Path
) -> None:
    """Folders, ledgers, ids and times make no difference; one changed byte does."""
    (place / "here").mkdir()
    (place / "some" / "where").mkdir(parents=True)
    one = run_letter(book, cwd=str(place / "here"))
    two = run_letter(other_book, cwd=str(place / "some" / "where"))
    mine, theirs = run_record(book, one), run_record(other_book, two)
    found = run_record_diff(book, mine, theirs)
    assert found["identical"], found
    assert (found["compared"]["stages"], found["undecided"]) == (3, [])
    changed = json.loads(json.dumps(theirs))
    made = next(one for one in changed["artifacts"] if one["id"] == "draft.1#0")
    made["text"] = made["text"].replace("Refund", "Refunt")
    found = run_record_diff(book, mine, changed)
    assert not found["identical"]
    assert found["stage_diffs"][0]["stage_id"] == "draft.1"
    assert found["stage_diffs"][0]["details"][0].startswith("artifacts: ")
    fixture = run_record_fixture(book, one)
    assert run_record_eval(other_book, two, fixture)["verdict"] == "passed"
    wrong = run_record_eval(other_book, changed, fixture)
    assert wrong["verdict"] == "failed"
    assert wrong["changed_stages"] == ["draft.1", "check.1", "send.1"]
    assert wrong["unsigned"] is True


def test_p10_a_suite_of_a_good_and_a_bad_run(book: Ledger) -> None:
    """The bad one fails the suite, and the stage that changed is named."""
    good, bad = run_letter(book), run_letter(book, letter("Sorry"))
    fixture = run_record_fixture(book, good)
    found = run_record_eval_suite(
        book, [{"run": good, "fixture": fixture}, {"run": bad, "fixture": fixture}]
    )
    assert (found["pass"], found["failed"], found["total"]) == (False, 1, 2)
    assert found["exit_code"] == 1
    wrong = found["cases"][1]
    assert wrong["changed_stages"] == ["draft.1", "check.1", "send.1"]
    assert "check.1: the branch is failed, not passed" in wrong["failures"]
    diff = run_record_diff(book, good, bad)
    assert (diff["status_changed"], diff["identical"]) == (True, False)
    changes = {one["stage_id"]: one["change"] for one in diff["stage_diffs"]}
    assert changes == {"draft.1": "changed", "check.1": "changed", "send.1": "removed"}


def test_p11_a_manifest_that_compares(book: Ledger, place: Path) -> None:
    """A case that is not as its baseline fails by one, and its comparison says how."""
    good, bad = run_letter(book), run_letter(book, letter("Sorry"))
    again = run_letter(book)
    (place / "f.json").write_text(json.dumps(run_record_fixture(book, good)))
    suite = eval_suite_manifest(
        {
            "_type": "eval_suite_manifest",
            "id": "letters",
            "cases": [
                {"label": "again", "run": again, "compare_to": good},
                {"label": "held", "run": again, "fixture_path": "f.json"},
                {"label": "bad", "run": bad, "compare_to": good},
            ],
        }
    )
    found = eval_suite_run(book, suite)
    assert (found["failed"], found["passed"], found["total"]) == (1, 2, 3)
    assert found["cases"][0]["comparison"]["identical"]
    assert not found["cases"][2]["comparison"]["identical"]
    assert (found["verdict"], found["pass"]) == ("failed", False)


def test_an_eval_is_a_run(book: Ledger) -> None:
    """Its verdict is signed, names the judged run's last event, and replays offline."""
    good = run_letter(book)
    fixture = run_record_fixture(book, good)
    found = run_record_eval(book, run_letter(book, letter("Sorry")), fixture)
    run = found["eval_run_id"]
    (case,) = book.events(run=run, type="eval.case_finished")
    assert case.data["verdict"] == "failed"
    last = next(iter(book.events(run=found["run_id"], order="desc", limit=1)))
    assert f"sha256:{last.hash}" in {one.digest for one in case.subject}
    (end,) = book.events(run=run, type="eval.concluded")
    assert (end.data["failed"], end.data["verdict"]) == (1, "failed")
    assert verify(book.path, home=book.path.parent / "home").ok
    report = replay(book, run)
    assert report.verdict == "acceptable", report.findings


def test_nothing_compared_is_no_pass() -> None:
    """A suite that holds its runs to nothing does not exist; nor one without cases."""
    with pytest.raises(UsageError, match=r"cases: the list is empty"):
        eval_suite_manifest({"cases": []})
    with pytest.raises(UsageError, match="it asserts nothing"):
        eval_suite_manifest({"_type": "replay_fixture"})
    empty: Any = {"version": 1, "cases": [{"id": "a", "run": "last"}]}
    with pytest.raises(UsageError, match="holds a run to nothing"):
        eval_suite_manifest(empty)


def test_erased_contents_equal_nothing(book: Ledger) -> None:
    """What was erased cannot be compared: the eval cannot tell, and the runs differ."""
    good, again = run_letter(book), run_letter(book)
    fixture = run_record_fixture(book, good)
    made = next(iter(book.events(run=again, type="artifact.recorded")))
    digest: Any = made.data["text"]
    book.erase(digest.digest, reason="asked for")
    found = run_record_eval(book, again, fixture)
    assert found["verdict"] == "cannot_tell"
    assert any("erased" in one for one in found["undecided"])
    diff = run_record_diff(book, good, again)
    assert (diff["identical"], diff["stage_diffs"]) == (False, [])
    assert diff["undecided"]


def test_a_run_compared_to_itself(book: Ledger) -> None:
    """It is equal, whatever it did: nobody can tell."""
    run = run_letter(book)
    case = {"label": "a", "run": run, "compare_to": run}
    found = eval_suite_run(book, {"cases": [case]})
    assert (found["verdict"], found["exit_code"]) == ("cannot_tell", 3)
    assert found["cases"][0]["undecided"] == ["it is compared to itself: no proof"]


def test_another_task_is_a_difference(book: Ledger) -> None:
    """Runs of two tasks are not the same, though every stage ended alike."""
    one, other = run_letter(book, task="A"), run_letter(book, task="B")
    found = run_record_diff(book, one, other)
    assert not found["identical"]
    changed = [row["section"] for row in found["observability_diffs"]]
    assert changed == ["task"]


NUMBERS = dict.fromkeys(("total", "passed", "failed", "cannot_tell", "warnings"), 1)
SETS = dict.fromkeys(("pairs", "better", "worse", "unchanged", "undecided"), 1)
GOOD: dict[str, dict[str, object]] = {
    "eval.started": {"suite": "s", "digest": "d", "cases": 1, "runs": 1},
    "eval.case_finished": {
        **dict.fromkeys(("case", "run", "severity"), "x"),
        "verdict": "passed",
        "compared": 1,
        "proves": 1,
    },
    "eval.compared": {**SETS, "verdict": "better", "unpaired": 0, "result": {}},
    "eval.concluded": {**NUMBERS, "verdict": "passed", "compared": 1},
}


def test_every_fact_is_tried() -> None:
    """A type that is added gets its data here."""
    assert {one.name for one in TYPES} == {*GOOD}


@pytest.mark.parametrize("name", GOOD)
def test_a_program_states_no_verdict(book: Ledger, name: str) -> None:
    """What an eval states, nobody else does: not a program, and not beside the runs."""

    def claims(run: Run) -> None:
        run.record(name, GOOD[name])

    for state in (
        lambda: book.append(name, GOOD[name]),
        lambda: book.execute(claims, name="claims").raise_failure(),
    ):
        with pytest.raises(UsageError) as refused:
            state()
        assert refused.value.rule == "event/own"
    assert [*book.events(type=name)] == []
