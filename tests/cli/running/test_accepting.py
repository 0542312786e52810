"""``--accept``: what may differ, in a replay, between two runs, and after a fork."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import muniment

pytestmark = pytest.mark.usefixtures("made")

PROGRAM = """
def main(run, place="Rome"):
    number = run.effect("data", place, lambda asked: len(asked))
    run.record("note.added", {{"text": "{text}"}})
    return {result}
"""
HONEST = PROGRAM.format(text="counted", result="number")
FORKED = """
def main(run):
    one = run.effect("llm", "one", lambda asked: asked)
    two = run.effect("llm", "two", lambda asked: asked)
    run.record("note.added", {"text": f"{one} {two}"})
    return [one, two]
"""

CALLING = """
def child(run):
    run.record("note.added", {"text": "called"})
    return 1


def main(run):
    return run.call(child)
"""


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    """Let programs be imported anew, as in a process of their own."""
    yield
    for name in ("survey", "otherwise", "thief", "branching"):
        sys.modules.pop(name, None)


@pytest.fixture
def run(shell: Any, work: Path) -> str:
    """Run the honest program once, and return the run's id."""
    (work / "survey.py").write_text(HONEST)
    (work / "otherwise.py").write_text(
        PROGRAM.format(text="otherwise", result="number")
    )
    (work / "thief.py").write_text(
        HONEST.replace("    return", "    steal()\n    return")
        + "\n\ndef steal():\n    try:\n        open('/etc/motd', 'w')\n"
        "    except Exception:\n        pass\n"
    )
    done = shell("run", "survey.py", "--json")
    assert done.code == 0, done.err
    return str(done.json["run"])


def _judged(run: str) -> dict[str, Any]:
    """Return what the recorded replay *run* says of its judgement."""
    with muniment.open(readonly=True) as ledger:
        (event,) = ledger.events(run=run, type="replay.judged")
        details = ledger.resolve(event)["details"]
    assert isinstance(details, dict)
    told: dict[str, Any] = details["governance"]
    return told


@pytest.mark.parametrize(
    "accept", ["exact_match", "invariant_preserving", "statistically_bounded"]
)
def test_an_honest_replay_is_accepted(installed: Any, run: str, accept: str) -> None:
    """In processes of their own, behind the layers; and the record says under which."""
    done = installed("replay", run, "--accept", accept, "--json")
    assert (done.code, done.json["verdict"]) == (0, "acceptable"), done.err
    (said,) = done.json["judgements"]
    assert (said["confidence"], said["mode"]) == ("exact_match", "bounded")
    told = _judged(done.json["recorded_as"])
    assert told["acceptability"] == accept
    assert told["isolation"]["level"] == done.json["isolation"]["level"]
    assert told["isolation"]["guards"] == done.json["guards"]


@pytest.mark.parametrize(
    ("options", "code", "verdict"),
    [
        (["--accept", "exact_match"], 1, "unacceptable"),
        (["--accept", "invariant_preserving"], 0, "acceptable_with_warnings"),
        (
            ["--accept", "invariant_preserving", "--mode", "strict"],
            1,
            "unacceptable",
        ),
        (
            ["--accept", "exact_match", "--mode", "observational"],
            0,
            "acceptable_with_warnings",
        ),
        ([], 1, "unacceptable"),
        (["--mode", "bounded"], 0, "acceptable_with_warnings"),
    ],
)
def test_the_exit_code_follows_the_judgement(
    installed: Any, run: str, options: list[str], code: int, verdict: str
) -> None:
    """And so does the recorded verdict, with the first divergent event."""
    done = installed("replay", run, "--program", "otherwise.py", *options, "--json")
    assert (done.code, done.json["verdict"]) == (code, verdict)
    with muniment.open(readonly=True) as ledger:
        (event,) = ledger.events(run=done.json["recorded_as"], type="replay.judged")
        (note,) = ledger.events(run=run, type="note.added")
        assert event.raw["verdict"] == verdict
    if "--accept" not in options:
        assert done.json["judgements"] == []
        return
    first = _judged(done.json["recorded_as"])["first_divergence"]
    assert (first["seq"], first["field"]) == (note.seq, "text")
    assert (first["expected"], first["got"]) == ("counted", "otherwise")


def test_people_read_terms_confidence_and_where(shell: Any, run: str) -> None:
    """In the replay, and later in the run that keeps its verdict."""
    options = ["--program", "otherwise.py", "--accept", "statistically_bounded"]
    done = shell("replay", run, *options, "--tolerance", "accuracy=0.1")
    assert done.code == 0
    lines = [line.split(maxsplit=1) for line in done.out.splitlines()]
    told = {line[0]: line[1] for line in lines if len(line) > 1}
    assert told["accepts"] == "statistically_bounded, bounded"
    assert told["confidence"] == "invariant_preserving"
    assert told["expected"] == "counted"
    assert "accuracy ±0.1" in told["envelope"]
    kept = done.out.split("recorded as")[1].split()[0]
    for command in ("show", "explain"):
        said = shell("runs", command, kept)
        assert said.code == 0
        assert "statistically_bounded, bounded" in said.out
        assert "invariant_preserving" in said.out
        assert "otherwise" in said.out


def test_strict_says_that_it_is_the_mode(shell: Any, run: str) -> None:
    """Whoever accepts contents and is rejected learns which option does it."""
    with muniment.open() as ledger:
        again = ledger.execute(_otherwise, name="main").run_id
    asked = ["--accept", "invariant_preserving", "--mode", "strict"]
    done = shell("runs", "diff", run, again, *asked)
    assert done.code == 1
    assert "--mode bounded does not" in done.err


def _otherwise(run: Any, place: str = "Rome") -> object:
    number = run.effect("data", place, len)
    run.record("note.added", {"text": "otherwise"})
    return number


def test_an_attempt_is_reported(installed: Any, run: str) -> None:
    """As a difference of its own, which no acceptability accepts."""
    options = ["--program", "thief.py", "--accept", "statistically_bounded"]
    done = installed("replay", run, *options, "--json")
    assert done.code == 1
    (said,) = done.json["judgements"]
    assert said["decisive"]["about"] == "isolation"
    assert "/etc/motd" in said["decisive"]["got"]
    seen = installed("replay", run, *options, "--mode", "observational", "--json")
    assert (seen.code, seen.json["verdict"]) == (0, "acceptable_with_warnings")


def test_where_the_plugin_may_not_load(installed: Any, run: str) -> None:
    """``--accept`` is *cannot tell*, and everything else is judged as ever."""
    bare = {"MUNIMENT_PLUGINS": "none"}
    for command in (
        ["replay", run, "--accept", "exact_match"],
        ["runs", "diff", run, run, "--accept", "exact_match"],
        ["fork", run, "--at", "3", "--accept", "exact_match"],
    ):
        done = installed(*command, env=bare)
        assert done.code == 3, done
        assert "[replay/accept]" in done.err
    assert installed("replay", run, env=bare).code == 0
    with muniment.open(readonly=True) as ledger:
        assert len(list(ledger.runs())) == 2, "nothing was forked"


@pytest.mark.parametrize(
    "options",
    [
        ["--accept", "exact_match", "--min-claim-overlap", "0.5"],
        ["--max-contradiction-delta", "1"],
        ["--tolerance", "a=x", "--accept", "statistically_bounded"],
        ["--tolerance", "a", "--accept", "statistically_bounded"],
        ["--min-claim-overlap", "2", "--accept", "statistically_bounded"],
        ["--accept", "roughly"],
    ],
)
def test_options_that_mean_nothing_are_refused(
    shell: Any, run: str, options: list[str]
) -> None:
    """One line, exit code 2, and nothing is recorded."""
    done = shell("replay", run, *options)
    assert (done.code, done.out) == (2, "")
    assert len(shell("runs", "--json").json) == 1


def test_two_runs(shell: Any, run: str) -> None:
    """The judgement stands beside the structural comparison, and gives the exit code."""
    with muniment.open() as ledger:
        again = ledger.execute(_otherwise, name="main").run_id
        other = ledger.execute(
            _otherwise, params={"place": "Paris"}, name="main"
        ).run_id
    assert shell("runs", "diff", run, again).code == 1
    asked = ["--accept", "invariant_preserving", "--json"]
    done = shell("runs", "diff", run, again, *asked)
    assert (done.code, done.json["equal"]) == (0, False)
    assert done.json["judgement"]["verdict"] == "acceptable_with_warnings"
    assert shell("runs", "diff", run, other, *asked).code == 1
    assert shell("runs", "diff", run, again, "--mode", "bounded").code == 2
    shown = shell("runs", "diff", run, again, "--accept", "exact_match")
    assert shown.code == 1
    assert "unacceptable" in shown.out


def test_child_runs_are_judged_with_it(shell: Any, work: Path) -> None:
    """Each by its own record; the recorded judgement has them beside the run's own."""
    (work / "branching.py").write_text(CALLING)
    shell("run", "branching.py:main")
    (parent,) = shell("runs", "--name", "main", "--json").json
    done = shell("replay", parent["id"], "--deep", "--accept", "exact_match", "--json")
    assert (done.code, done.json["children"]) == (0, 1), done.err
    first, below = done.json["judgements"]
    assert first["expected"] == parent["id"]
    assert below["compared"]["facts"] == 1
    told = _judged(done.json["recorded_as"])
    assert [one["expected"] for one in told["children"]] == [below["expected"]]


POLICY = {
    "spec_version": "v1",
    "policy_id": "tested",
    "replay_mode": "bounded",
    "replay_acceptability": "invariant_preserving",
}


@pytest.fixture
def governed(shell: Any, work: Path, run: str) -> str:
    """Run the honest program under a policy, and return the run's id."""
    assert run
    (work / "policy.json").write_text(json.dumps(POLICY))
    done = shell("run", "survey.py", "--policy", "policy.json", "--json")
    assert done.code == 0, done.err
    return str(done.json["run"])


@pytest.mark.slow
def test_a_governed_run_is_judged_by_its_policy(installed: Any, governed: str) -> None:
    """Without being asked to; options take the place of what the policy says."""
    changed = ["replay", governed, "--program", "otherwise.py", "--json"]
    done = installed(*changed)
    assert (done.code, done.json["verdict"]) == (0, "acceptable_with_warnings")
    assert done.json["mode"] == "bounded"
    assert done.json["judgements"][0]["acceptability"] == "invariant_preserving"
    assert installed(*changed, "--mode", "strict").code == 1
    assert installed(*changed, "--accept", "exact_match").code == 1


def test_a_governed_run_without_the_plugin(installed: Any, governed: str) -> None:
    """It is an ordinary program, whose record the kernel judges strictly."""
    bare = {"MUNIMENT_PLUGINS": "none"}
    done = installed("replay", governed, "--json", env=bare)
    assert (done.code, done.json["verdict"]) == (0, "acceptable"), done.err
    assert (done.json["mode"], done.json["judgements"]) == ("strict", [])


def test_a_fork_of_a_governed_run_says_its_delta(
    installed: Any, work: Path, governed: str
) -> None:
    """Without being asked to, under the terms of the origin's policy."""
    (work / "answer.json").write_text("5")
    with muniment.open(readonly=True) as ledger:
        (answered,) = ledger.events(run=governed, type="data.completed")
    change = ["--at", str(answered.seq), "--set", f"{answered.seq}=answer.json"]
    done = installed("fork", governed, *change)
    assert done.code == 0, done.err
    assert "invariant_preserving, bounded" in done.out
    assert "acceptable with warnings" in done.out


def test_a_fork_is_followed_by_its_delta(shell: Any, work: Path) -> None:
    """On request; the exit code stays that of the fork."""
    (work / "branching.py").write_text(FORKED)
    origin = shell("run", "branching.py", "--json").json["run"]
    (work / "answer.json").write_text(json.dumps("another"))
    with muniment.open(readonly=True) as ledger:
        first = next(ledger.events(run=origin, type="llm.completed"))
    change = ["--at", str(first.seq), "--set", f"{first.seq}=answer.json"]
    silent = shell("fork", origin, *change)
    assert (silent.code, "confidence" in silent.out) == (0, False)
    done = shell("fork", origin, *change, "--accept", "exact_match")
    assert done.code == 0
    assert "unacceptable" in done.out
    assert f"event {first.seq}" in done.out
    assert "another" in done.out
    told = shell("fork", origin, *change, "--accept", "exact_match", "--json")
    assert told.json["status"] == "completed", "the document is that of the fork"
    assert "unacceptable" in told.err
