"""``muniment attest``: signed statements, and what the export says of them."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path

import pytest

from first_hour import Newcomer

WORK = """
def main(run):
    run.record("synthesis.attempted", {"code": "x = 1", "accepted": True, "origin": "llm"})
    run.record("verdict.reached", {"hypothesis": "h", "verifier": "v", "passed": True})
"""


@pytest.fixture
def user(tmp_path: Path) -> Newcomer:
    """Give somebody with one run."""
    user = Newcomer(tmp_path / "desk", tmp_path / "home")
    user.folder.mkdir()
    user.home.mkdir()
    (user.folder / "work.py").write_text(WORK)
    user.begin()
    assert user.muniment("run", "work.py:main").code == 0
    return user


def test_attest_and_export(user: Newcomer) -> None:
    """People read what was signed; the file has an envelope for each, and the same ones."""
    ((run, _),) = user.runs()
    none = user.muniment("export", run, "--format", "in-toto")
    assert (none.code, "muniment attest" in none.err, none.out) == (3, True, "")
    line = ["attest", run[:12], "--predicate", "test-result", "--predicate", "slsa"]
    done = user.muniment(*line)
    assert done.code == 0, done.err
    assert "statement  test-result: PASSED" in done.out
    assert "rests on   4 of 4 events; without a place: none" in done.out
    told = json.loads(user.muniment(*line, "--json").out)
    assert [one["event"] for one in told["statements"]] == [5, 6]
    assert [one["result"] for one in told["statements"]] == ["PASSED", None]
    text = user.muniment("export", run, "--format", "in-toto").out
    types = [
        json.loads(b64decode(json.loads(one)["payload"]))["predicateType"]
        for one in text.splitlines()
    ]
    assert types == [one["predicate_type"] for one in told["statements"]]
    assert user.muniment("verify").code == 0


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        (["RUN"], 2, "--predicate"),
        (["RUN", "--predicate", "sbom"], 2, "sbom"),
        (["01ZZZ", "--predicate", "svr"], 2, "run"),
        (["RUN", "--predicate", "vsa"], 4, "[attestation/no-decision]"),
        (["RUN", "--predicate", "svr", "--predicate", "vsa"], 4, "no decision"),
    ],
)
def test_mistakes(user: Newcomer, line: list[str], code: int, said: str) -> None:
    """Each is one line that says what to do, and nothing is signed."""
    ((run, _),) = user.runs()
    events = user.events()
    done = user.muniment("attest", *[run if one == "RUN" else one for one in line])
    assert (done.code, len(done.err.splitlines())) == (code, 1), done.err
    assert said in done.err
    assert done.out == ""
    assert user.events() == events
