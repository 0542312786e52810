"""The word of a judge is exact: what it passes, what it fails, and what is no verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from muniment.ledger import Ledger
from muniment_plugins.workflow import workflow_execute
from muniment_plugins.workflow.nodes.verdicts import judged_row, word_of

PASSES = [
    "PASS",
    "PASS.",
    "PASS: it is polite",
    "**PASS**",
    "**PASS**: fine",
    "`PASS`",
    '"PASS"',
    "  PASS\nFAIL would be too harsh",
    "# PASS",
    "PASS - it does not fail",
    "PASS, and nothing is passing me by",
]
FAILS = ["FAIL", "FAIL: rude", "**FAIL** it is", "FAIL\nbut PASS next time"]
NEITHER = [
    "",
    "\n",
    "pass",
    "Pass",
    "PASSED",
    "PASSING",
    "PASS-ish",
    "PASS_1",
    "FAILURE",
    "PASS or FAIL: FAIL",
    "PASS or FAIL: PASS",
    "FAIL. Not a PASS",
    "It is a PASS",
    "NOT PASS",
    "ok\nPASS",
    "PASS/FAIL",
    "Verdict: PASS",
]


@pytest.mark.parametrize(
    ("answer", "word"),
    [(one, "PASS") for one in PASSES]
    + [(one, "FAIL") for one in FAILS]
    + [(one, None) for one in NEITHER],
)
def test_the_word_of_a_judge(answer: str, word: str | None) -> None:
    """The first word, in capitals, with no other beside it; marks around it are none."""
    assert word_of(answer) == word
    row = judged_row(answer)
    assert row["ok"] == (word == "PASS")
    assert str(row["actual"]).startswith("no verdict") == (word is None)


def test_rubric_and_prompt_are_both_asked(tmp_path: Path, place: Path) -> None:
    """Neither takes the place of the other."""
    (place / "a.json").write_text(json.dumps(["PASS"]))
    node = {
        "kind": "verify",
        "mode": "llm",
        "model_policy": {"provider": "scripted", "model": "a.json"},
        "verify": {"rubric": "Is it polite?"},
        "prompt": "Mind the greeting.",
    }
    with Ledger.create(
        tmp_path / "l.db", home=tmp_path / "home", plugins=("workflow", "providers")
    ) as book:
        done = workflow_execute(book, "t", {"nodes": {"act": node}})
        (asked,) = book.events(run=done.run_id, type="llm.requested")
        prompt = str(book.resolve(asked)["request"])
    assert done.status == "completed"
    assert "Is it polite?" in prompt
    assert "Mind the greeting." in prompt
