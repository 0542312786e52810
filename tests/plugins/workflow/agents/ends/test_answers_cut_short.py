"""What of a model's answer is relied on, whoever asks: once or in a loop, work or verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muniment import replay
from muniment.ledger import Ledger
from muniment_plugins.workflow import run_record, workflow_execute
from muniment_plugins.workflow.agents.loop.endings import ENDINGS
from workflow_stages import chain

WHOLE: dict[str, Any] = {
    "as ever": {},
    "said to end": {"finish_reason": "stop"},
    "no reason": {"finish_reason": ""},
    "null": {"finish_reason": None},
    "an unknown reason": {"finish_reason": "odd"},
}
CUT: dict[str, Any] = {
    "cut_off": {"finish_reason": "length"},
    "filtered": {"finish_reason": "content_filter"},
    "unfinished": {"finish_reason": "pause_turn"},
    "incomplete": {"finish_reason": "incomplete"},
    "refused": {"finish_reason": "content_filter", "refusal": "No."},
    "refused, and said to end": {"finish_reason": "stop", "refusal": ""},
}
REASONS = {"incomplete": "unfinished"} | dict.fromkeys(
    ("refused", "refused, and said to end"), "filtered"
)
MODES = pytest.mark.parametrize("mode", ["llm", "agent"])


@pytest.fixture
def library(tmp_path: Path, place: Path) -> Iterator[Ledger]:
    """Give a ledger with a model that answers from a list."""
    del place
    home, plugins = tmp_path / "home", ("workflow", "providers")
    with Ledger.create(tmp_path / "l.db", home=home, plugins=plugins) as made:
        yield made


def stage_of(library: Ledger, place: Path, kind: str, mode: str, answer: Any) -> Any:
    """Return the record of a node whose model gives that *answer*, and its run's status."""
    (place / "a.json").write_text(json.dumps([answer]))
    node = {"kind": kind, "mode": mode, "model_policy": {"model": "scripted:a.json"}}
    node |= {"prompt": "say"} if kind == "stage" else {"verify": {"rubric": "good?"}}
    done = workflow_execute(library, "T", chain(a=node))
    record = run_record(library, done.run_id)
    assert replay(library, done.run_id).verdict == "acceptable"
    return record["status"], record["stages"][0]


@MODES
@pytest.mark.parametrize("answer", WHOLE)
def test_whole_answers(library: Ledger, place: Path, mode: str, answer: str) -> None:
    """A reason that is not given, or that nobody knows, cuts nothing short."""
    told = {"text": "PASS: it is good", **WHOLE[answer]}
    status, stage = stage_of(library, place, "stage", mode, told)
    assert (status, stage["status"]) == ("completed", "completed")
    assert stage["visible_text"] == told["text"]
    status, stage = stage_of(library, place, "verify", mode, told)
    assert (status, stage["verification"]["verdict"]) == ("completed", "verified")


@MODES
@pytest.mark.parametrize("answer", CUT)
def test_answers_cut_short(
    library: Ledger, place: Path, mode: str, answer: str
) -> None:
    """No stage succeeds, and no verifier passes, by an answer that is not whole.

    They say why: in the outcome of the stage, and in what was checked.
    """
    told = {"text": "PASS: it would be fine if", **CUT[answer]}
    reason = REASONS.get(answer, answer)
    status, stage = stage_of(library, place, "stage", mode, told)
    assert (status, stage["status"], stage["branch"]) == ("failed", "failed", "failed")
    assert stage["outcome"] == reason
    wanted = ENDINGS[reason].says if "refus" not in answer else "refused"
    assert wanted in str(stage["error"])

    status, stage = stage_of(library, place, "verify", mode, told)
    assert status == "failed"
    assert stage["verification"]["verdict"] == "verification_failed"
    (check,) = stage["verification"]["checks"]
    assert check["ok"] is False
    assert check["actual"].startswith("no verdict: ")
    assert wanted in check["actual"]
