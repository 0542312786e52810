"""A request has one outcome: no reader can take the first for true, and another the last."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

from attacking import check
from forge import RUN, Forge
from muniment.verifying.run_record import RunRecord

VERBS = {
    "r": "requested",
    "s": "streamed",
    "c": "completed",
    "f": "failed",
    "S": "completed",  # with secrets
}
RESUMED = "R"
HONEST = re.compile(r"(rs*f?)*(rs*c)?")
"""Attempts, each with parts and at most one outcome; the last may have completed."""

LETTERS = (*VERBS, RESUMED)
STORIES = ["r" + "".join(more) for n in range(4) for more in product(LETTERS, repeat=n)]


def is_honest(story: str) -> bool:
    """Tell whether a writer tells *story*: an answer with secrets is none once resumed."""
    told = re.sub(f"S{RESUMED}+", "f", story).replace(RESUMED, "").replace("S", "c")
    return HONEST.fullmatch(told) is not None


def told(story: str, version: int) -> Forge:
    """Return a ledger with a run of one effect, to which *story* happened."""
    forge = Forge("one").open(event=version)
    forge.append("run.started", {"name": "x", "seed": "00"}, run=RUN)
    for at, letter in enumerate(story):
        if letter == RESUMED:
            forge.append("run.resumed", {"generation": at}, run=RUN, ordinal=at + 1)
        else:
            data = {"of": letter, "about": {"secrets": True} if letter == "S" else {}}
            forge.append(f"probe.{VERBS[letter]}", data, run=RUN, ordinal=1)
    forge.append("x.noted", {"text": "after it"}, run=RUN, ordinal=len(story) + 1)
    forge.end_run(RUN)
    return forge


def replayed(forge: Forge) -> set[str]:
    """Return the rules that the run breaks for who reads it alone."""
    record = RunRecord(forge.ledger, RUN)
    for row in forge.rows:
        record.add(
            (row.seq, row.type, row.run, row.payload, row.signature, row.key, row.hash)
        )
    return {finding.rule for finding in record.finish()[1]}


@pytest.mark.parametrize("version", [1, 2])
def test_every_short_story_of_an_effect_is_judged(tmp_path: Path, version: int) -> None:
    """Tell every story of at most four events, to both who read a run."""
    honest = 0
    for story in STORIES:
        forge = told(story, version)
        good = version == 1 or is_honest(story)
        honest += good
        wanted = set() if good else {"run/order"}
        report = check(forge, tmp_path / f"{story}.db")
        assert {one.rule for one in report.findings} == wanted, story
        assert report.exit_code == bool(wanted), story
        assert replayed(forge) == wanted, story
    assert 0 < honest <= len(STORIES)
    assert (honest == len(STORIES)) == (version == 1)


def test_another_effect_between_is_no_matter(tmp_path: Path) -> None:
    """Mix attempts at three effects: each is judged by itself."""
    forge = Forge("one").open()
    forge.append("run.started", {"name": "x", "seed": "00"}, run=RUN)
    for verb, ordinal, scope in (
        ("requested", 1, ""),
        ("requested", 2, ""),
        ("requested", 1, "map/0"),
        ("completed", 1, "map/0"),
        ("failed", 2, ""),
        ("completed", 1, ""),
        ("requested", 2, ""),
        ("completed", 2, ""),
    ):
        kind = f"probe.{verb}"
        forge.append(kind, {"n": 1}, run=RUN, scope=scope, ordinal=ordinal)
    forge.end_run(RUN)
    assert check(forge, tmp_path / "l.db").findings == ()
    assert replayed(forge) == set()
