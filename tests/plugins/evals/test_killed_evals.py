"""An eval that is killed goes on where it was, and comes to the same verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from children import is_killed
from letters import letter, run_letter
from muniment import replay
from muniment.ledger import Ledger
from muniment_plugins.evals import eval_suite_run

PLUGINS = ("workflow", "evals", "providers")
PACK: dict[str, Any] = {
    "version": 1,
    "id": "judged",
    "judge": {"model": "scripted:answers.json"},
    "rubrics": [
        {"id": "fine", "kind": "llm-judge", "prompt": "Is it fine?", "stage": "draft"},
        {"id": "sent", "assertions": [{"kind": "run-status", "expected": "completed"}]},
    ],
    "cases": [{"id": "c", "rubrics": ["fine", "sent"]}],
}
ANSWERS = [
    {"when": "Refund in", "text": '{"pass": true}'},
    {"when": "Sorry in", "text": '{"pass": false, "reason": "It is rude."}'},
]


@pytest.fixture
def shelf(tmp_path: Path, place: Path) -> Iterator[Ledger]:
    """Give a ledger with runs to judge, and a model that judges."""
    (place / "answers.json").write_text(json.dumps(ANSWERS))
    home = tmp_path / "home"
    with Ledger.create(tmp_path / "l.db", home=home, plugins=PLUGINS) as made:
        for text in ("Refund", "Sorry", "Refund"):
            run_letter(made, letter(text))
        yield made


def held(ledger: Ledger, runs: list[str]) -> dict[str, Any]:
    """Hold the runs against the pack."""
    return eval_suite_run(ledger, PACK, runs)


@pytest.mark.parametrize("commit", range(9))
def test_killed_in_an_eval(shelf: Ledger, commit: int) -> None:
    """No judge that answered is asked again, and the verdicts are the same."""
    runs = [one.id for one in shelf.runs(name="letter", order="asc")]
    assert len(runs) == 3
    assert is_killed(shelf.path, partial(held, runs=runs), commit, plugins=PLUGINS)
    (begun,) = shelf.runs(name="eval judged")
    answered = len(list(shelf.events(run=begun.id, type="llm.completed")))
    value: Any = shelf.resume(begun.id).value
    asked = len(list(shelf.events(run=begun.id, type="llm.completed")))
    assert (value["verdict"], answered <= 3, asked) == ("failed", True, 3)
    assert [one["verdict"] for one in value["cases"]] == ["passed", "failed", "passed"]
    assert replay(shelf, begun.id).verdict == "acceptable"
