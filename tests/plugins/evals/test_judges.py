"""Judges that are models: recorded, calibrated, and believed no more than they are sure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from letters import letter, run_letter
from muniment import replay
from muniment.ledger import Ledger
from muniment_plugins.evals import eval_suite_run
from muniment_plugins.evals.checks.judging import judged, judgement_in, judgement_of
from muniment_plugins.workflow import workflow_execute
from workflow_stages import chain, stage

ANSWERS = [
    {"when": "example one", "text": '{"pass": true, "score": 0.9}'},
    {"when": "example two", "text": '{"pass": false, "score": 0.1}'},
    {
        "when": "Refund in",
        "text": '```json\n{"pass": true, "score": 0.8, "confidence": 0.9}\n```',
    },
    {
        "when": "Sorry in",
        "text": '{"pass": false, "score": 0.2, "reason": "It is rude."}',
    },
    {"when": "Hm in", "text": "I would rather not say."},
]


@pytest.fixture
def library(tmp_path: Path, place: Path) -> Iterator[Ledger]:
    """Give a ledger with a model that judges."""
    (place / "answers.json").write_text(json.dumps(ANSWERS))
    plugins = ("workflow", "evals", "providers")
    with Ledger.create(tmp_path / "l.db", home=tmp_path / "h", plugins=plugins) as made:
        yield made


def judging(*calibration: dict[str, Any], **thresholds: Any) -> dict[str, Any]:
    """Return a pack whose one case a model judges."""
    rubric = {
        "id": "polite",
        "kind": "llm-judge",
        "prompt": "Is the letter polite?",
        "stage": "draft",
        "calibration": [*calibration],
        "thresholds": thresholds,
    }
    return {
        "version": 1,
        "id": "judged",
        "judge": {"model": "scripted:answers.json"},
        "rubrics": [rubric],
        "cases": [{"id": "c", "rubrics": ["polite"]}],
    }


def test_a_model_judges(library: Ledger, place: Path) -> None:
    """Its answer is an effect: a replay comes to the verdict without it."""
    good, bad = run_letter(library), run_letter(library, letter("Sorry"))
    odd = run_letter(library, letter("Hm"))
    found = eval_suite_run(library, judging(), [good, bad, odd])
    of = [
        (one["verdict"], *one["failures"], *one["undecided"]) for one in found["cases"]
    ]
    assert of == [
        ("passed",),
        ("failed", "polite: the judge says no: It is rude."),
        ("cannot_tell", "polite: the answer is no judgement"),
    ]
    (place / "answers.json").unlink()
    assert replay(library, found["eval_run_id"]).verdict == "acceptable"
    (place / "answers.json").write_text("[]")
    gone = eval_suite_run(library, judging(), [good])
    assert (gone["verdict"], gone["exit_code"]) == ("cannot_tell", 3)
    assert "the judge did not answer" in gone["cases"][0]["undecided"][0]


@pytest.mark.parametrize(
    ("thresholds", "verdict", "words"),
    [
        ({"min_score": 0.8}, "passed", None),
        ({"min_score": 0.81}, "failed", "the score is 0.8, not 0.81"),
        ({"min_confidence": 0.95}, "cannot_tell", "its confidence is 0.9, not 0.95"),
    ],
)
def test_scores_of_judges(
    library: Ledger, thresholds: dict[str, Any], verdict: str, words: str | None
) -> None:
    """The least score and confidence hold."""
    found = eval_suite_run(library, judging(**thresholds), [run_letter(library)])
    assert found["verdict"] == verdict
    said = [*found["cases"][0]["failures"], *found["cases"][0]["undecided"]]
    assert (words is None and not said) or str(words) in said[0]


def test_a_judge_is_calibrated(library: Ledger) -> None:
    """One that judges an example otherwise than people did is not believed."""
    run = run_letter(library)
    right = (
        {"text": "example one", "pass": True},
        {"text": "example two", "pass": False},
    )
    good = eval_suite_run(library, judging(*right), [run])
    assert good["verdict"] == "passed"
    wrong = eval_suite_run(
        library, judging(right[0], {**right[1], "pass": True}), [run]
    )
    assert wrong["cases"][0]["undecided"] == [
        "polite: the judge is wrong about 1 of 2 examples"
    ]


ODD = (
    '{"pass": false, "pass": true}',
    '{"pass": true, "score": 0.1, "score": 0.9}',
    'I think: {"pass": true}',
    '{"pass": true} and more',
    '{"pass": true}\n{"pass": false}',
    '[{"pass": true}]',
    '{"pass": true, "score": NaN}',
    '{"pass": true, "score": Infinity}',
    '{"pass": true, "score": 1e400}',
    '{"pass": true, "score": 5}',
    '{"pass": true, "score": -1}',
    '{"pass": true, "score": "0.9"}',
    '{"pass": true, "score": true}',
    '{"pass": true, "confidence": 2}',
    '{"pass": "true"}',
    '{"pass": 1}',
    '{"Pass": true}',
    "[" * 9000,
    "",
)


@pytest.mark.parametrize("text", ODD)
def test_an_answer_is_read_strictly(text: str) -> None:
    """What is not one sound object judges nothing, with or without a score that is wanted."""
    assert judgement_in(text) is None
    held = judged({"id": "r"}, judgement_of({"text": text}))
    assert held.ok is None


@given(
    passes=st.booleans(),
    score=st.none() | st.floats(0, 1),
    confidence=st.none() | st.integers(0, 1),
    space=st.sampled_from(["", "\n", "  "]),
    fenced=st.booleans(),
)
def test_a_sound_answer_is_read(
    passes: bool, score: float | None, confidence: int | None, space: str, fenced: bool
) -> None:
    """One object, with space around it or in one block of Markdown."""
    said = {"pass": passes, "score": score, "confidence": confidence}
    text = json.dumps(said)
    whole = f"{space}```json\n{text}\n```{space}" if fenced else f"{space}{text}{space}"
    known = {name: one for name, one in said.items() if one is not None}
    assert judgement_in(whole) == known


def test_a_judge_reads_in_the_order_of_the_visits(library: Ledger) -> None:
    """Texts of several stages come as they were made, not by the names of the nodes."""
    names = ("zeta", "alpha", "mid")
    run = workflow_execute(library, "T", chain(**{one: stage() for one in names}))
    suite = judging()
    del suite["rubrics"][0]["stage"]
    found = eval_suite_run(library, suite, [run.run_id])
    (asked,) = library.events(run=found["eval_run_id"], type="llm.requested")
    prompt = str(library.resolve(asked)["request"])
    places = [prompt.index(one) for one in names]
    assert places == sorted(places)
