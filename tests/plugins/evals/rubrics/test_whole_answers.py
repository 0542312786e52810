"""An answer of a judge that is not whole, or a refusal, is no judgement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from letters import run_letter
from muniment import replay
from muniment.ledger import Ledger
from muniment_plugins.evals import eval_suite_run
from muniment_plugins.evals.checks.judging import judged, judgement_of
from muniment_plugins.workflow.runtime.half_answers import CUT

WORDS = {
    "length": "its answer was cut off by a limit of tokens",
    "content_filter": "it refused, or the provider filtered its answer",
    **dict.fromkeys(
        ("pause_turn", "incomplete"),
        "the provider says that it did not finish its answer",
    ),
}
REFUSED = "the model refused"
SAYS = {"pass": True, "score": 1, "confidence": 1}


def answer(passes: bool, **more: Any) -> dict[str, Any]:
    """Return an answer whose text is a sound judgement."""
    return {"text": json.dumps({**SAYS, "pass": passes}), **more}


@given(
    passes=st.booleans(),
    reason=st.sampled_from([*CUT, "stop", "tool_calls"]) | st.text() | st.none(),
    refusal=st.none() | st.text(),
    confidence=st.none() | st.just(1),
)
def test_only_a_whole_answer_judges(
    passes: bool, reason: str | None, refusal: str | None, confidence: int | None
) -> None:
    """Whatever its text says: cut off, filtered or refused, nobody can tell, and it says why."""
    told = answer(passes, finish_reason=reason, refusal=refusal)
    held = judged({"id": "j", "min_confidence": confidence}, judgement_of(told))
    if refusal is not None:
        assert (held.ok, held.says) == (None, f"j: {REFUSED}")
    elif reason is not None and reason in CUT:
        assert (held.ok, held.says) == (None, f"j: {WORDS[reason]}")
    else:
        assert held.ok is passes


@given(st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text()))
def test_what_is_no_answer_judges_nothing(told: Any) -> None:
    """A provider of somebody's own may return anything."""
    held = judged({"id": "j"}, judgement_of(told))
    assert (held.ok, held.says) == (None, "j: the answer is no judgement")


CUTS = [
    *(({"finish_reason": reason}, WORDS[reason]) for reason in CUT),
    ({"refusal": "No."}, REFUSED),
    ({"refusal": "", "finish_reason": "content_filter"}, REFUSED),
]


@pytest.mark.parametrize("where", ["case", "example"])
@pytest.mark.parametrize(("more", "words"), CUTS)
def test_a_case_is_not_passed_by_it(
    library: Ledger, place: Path, where: str, more: dict[str, Any], words: str
) -> None:
    """Neither about the run nor about an example that people judged; a replay agrees."""
    of = {"example": "an example", "case": "Refund in"}
    script = [
        {"when": text, **answer(True, **(more if name == where else {}))}
        for name, text in of.items()
    ]
    (place / "answers.json").write_text(json.dumps(script))
    rubric = {
        "id": "polite",
        "kind": "llm-judge",
        "prompt": "Is it polite?",
        "judge": {"model": "scripted:answers.json"},
        "stage": "draft",
        "calibration": [{"text": "an example", "pass": True}],
    }
    suite = {
        "version": 1,
        "rubrics": [rubric],
        "cases": [{"id": "c", "rubrics": ["polite"]}],
    }
    found = eval_suite_run(library, suite, [run_letter(library)])
    about = "asked about an example: " if where == "example" else ""
    assert (found["verdict"], found["exit_code"]) == ("cannot_tell", 3)
    assert found["cases"][0]["undecided"] == [f"polite: {about}{words}"]
    assert replay(library, found["eval_run_id"]).verdict == "acceptable"
