"""The table of verdicts in the docs, cell by cell, over pairs of real records."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from judged_runs import CASES, recorded_cases
from muniment.replays.report import Mode
from muniment_plugins.governance.documents.words import (
    ACCEPTABILITIES,
    REPLAY_MODES,
    Acceptability,
)
from muniment_plugins.governance.judgement.judge import judge
from muniment_plugins.governance.judgement.record import ComparedRun
from muniment_plugins.governance.judgement.terms import Terms

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "judgement.md"
WORDS = {
    "accepts": "acceptable",
    "warns": "acceptable_with_warnings",
    "rejects": "unacceptable",
}


def _table() -> dict[tuple[str, str, str], str]:
    """Return mode, acceptability and case → the word in the cell."""
    lines = PAGE.read_text().partition("<!-- verdicts -->")[2].splitlines()
    rows = [
        [cell.strip(" `") for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith("|")
    ]
    head, _, *body = rows
    return {
        (row[0], row[1], case): word
        for row in body
        for case, word in zip(head[2:], row[2:], strict=True)
    }


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ComparedRun]:
    """Give the records, made once."""
    return recorded_cases(tmp_path_factory.mktemp("cases"))


def test_the_table_is_whole() -> None:
    """It has a row for each mode and acceptability, and a column for each case."""
    assert _table().keys() == {
        (mode, one, case)
        for mode in REPLAY_MODES
        for one in ACCEPTABILITIES
        for case in CASES
    }


@pytest.mark.parametrize(("mode", "acceptability", "case"), sorted(_table()))
def test_a_cell(
    cases: dict[str, ComparedRun], mode: str, acceptability: str, case: str
) -> None:
    """What the docs say of it is what the judge says of a pair of real records."""
    terms = Terms(cast("Mode", mode), cast("Acceptability", acceptability))
    said = judge(cases[""], cases[case], terms)
    assert said.verdict == WORDS[_table()[mode, acceptability, case]], said.differences
    assert said.ok == (said.exit_code == 0)


def test_every_case_differs_in_what_it_says(cases: dict[str, ComparedRun]) -> None:
    """So that no cell is right for another reason; and each is named by its event."""
    about = {
        name: {one.about for one in judge(cases[""], other, Terms()).differences}
        for name, other in cases.items()
    }
    assert about == {
        "": set(),
        "identical": set(),
        "reordered": {"event"},
        "changed payload": {"artifact", "effect"},
        "missing evidence": {"evidence"},
        "more contradiction": {"verification", "contradiction"},
        "failed run": {"status"},
        "other environment": {"environment"},
        "other dataset": {"dataset"},
    }


def test_shares_are_said(cases: dict[str, ComparedRun]) -> None:
    """How much of the evidence, and of the claims, was found again."""
    lost = judge(cases[""], cases["missing evidence"], Terms("bounded"))
    assert (lost.evidence_overlap, lost.claim_overlap) == (0.5, 1.0)
    more = judge(cases["missing evidence"], cases[""], Terms("bounded"))
    assert more.evidence_overlap == 1.0


def test_within_the_envelope(cases: dict[str, ComparedRun]) -> None:
    """One more contradiction is accepted where the envelope allows one."""
    wide = Terms("bounded", "statistically_bounded", max_contradiction_delta=1)
    said = judge(cases[""], cases["more contradiction"], wide)
    assert (said.verdict, said.contradiction_delta) == ("acceptable_with_warnings", 1)
    assert said.confidence == "statistically_bounded"
