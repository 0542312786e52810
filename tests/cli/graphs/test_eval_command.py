"""Evals on the command line: fixtures written, runs held to them, files left alone."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from graph_desk import DOCUMENT, write_graph

Shell = Any
PACK = """
version = 1
id = "rounds"
[[rubrics]]
id = "fine"
assertions = [{kind = "run-status", expected = "completed"},
  {kind = "visible-text-contains", stage = "check", contains = "fine"}]
[[cases]]
id = "fine"
rubrics = ["fine"]
"""


@pytest.fixture
def desk(work: Path, shell: Shell) -> Iterator[Path]:
    """Stand beside a graph, a pack, and a ledger with two equal runs."""
    sys.modules.pop("stages", None)
    write_graph(work)
    other = json.loads(json.dumps(DOCUMENT))
    other["nodes"]["check"]["verify"]["command"] = "echo odd"
    write_graph(work, other, "odd.json")
    (work / "pack.toml").write_text(PACK)
    (work / "flaky").touch()
    assert shell("init").code == 0
    for _ in range(2):
        assert run(shell, "graph.json", "old") == 0
    yield work
    sys.modules.pop("stages", None)


def run(shell: Shell, file: str, side: str) -> int:
    """Run a graph with a label; return the exit code."""
    return int(shell("run", file, "--task", "T", "--label", f"prompt={side}").code)


def test_a_fixture_and_another_run(desk: Path, shell: Shell) -> None:
    """A fixture is written once; the run that it is of proves nothing, another one passes."""
    assert shell("runs", "fixture", "last", "-o", "f.json").code == 0
    again = shell("runs", "fixture", "last", "-o", "f.json")
    assert (again.code, "[cli/output]" in again.err) == (2, True)
    own = shell("eval", "f.json", "last")
    assert (own.code, "cannot tell" in own.out) == (3, True)
    assert "made of this very run: that it holds proves nothing" in own.out
    other = shell("eval", "f.json", "last~1", "--json")
    assert (other.code, other.json["verdict"]) == (0, "passed")
    assert other.json["compared"] > 30
    assert other.json["exit_code"] == 0
    shown = shell("runs", "show", other.json["eval_run_id"], "--json").json
    assert shown["run"]["name"].startswith("eval fixture_")
    assert shell("replay", other.json["eval_run_id"]).code == 0
    assert shell("verify").code == 0
    assert desk.is_dir()


def test_a_changed_stage_is_named(desk: Path, shell: Shell) -> None:
    """By the eval, and by the difference of the runs, which says how much it compared."""
    shell("runs", "fixture", "last", "-o", "f.json")
    run(shell, "odd.json", "new")
    bad = shell("eval", "f.json", "last", "--json")
    assert (bad.code, bad.json["cases"][0]["changed_stages"]) == (1, ["check.1"])
    pack = shell("eval", "pack.toml", "prompt=old", "prompt=new")
    assert pack.code == 1
    assert "check.1: no text has 'fine'" in pack.out
    assert "2 passed, 1 failed" in pack.out
    named = shell("runs", "list", "--name", "rounds", "--json").json
    new, old, older = (one["id"] for one in named)
    diff = shell("runs", "diff", old, new)
    assert diff.code == 1
    assert "check.1  changed" in diff.out
    assert "10 stages of both compared" in diff.out
    told = shell("runs", "diff", old, new, "--json").json["stages"]
    assert [one["stage_id"] for one in told["stage_diffs"]] == ["check.1"]
    same = shell("runs", "diff", old, older, "--json").json
    assert same["stages"]["identical"], same["stages"]
    assert desk.is_dir()


def test_junit_is_written_once(desk: Path, shell: Shell) -> None:
    """Before anything is run it is looked whether the file is there."""
    done = shell("eval", "pack.toml", "prompt=old", "--junit", "out.xml")
    assert done.code == 0
    root = ET.parse(desk / "out.xml").getroot()  # noqa: S314 - our own
    assert (root.get("tests"), root.get("failures")) == ("2", "0")
    before = len(shell("runs", "list", "--json").json)
    again = shell("eval", "pack.toml", "prompt=old", "--junit", "out.xml")
    assert (again.code, "nothing is overwritten" in again.err) == (2, True)
    far = shell("eval", "pack.toml", "prompt=old", "--junit", "no/out.xml")
    assert (far.code, "[directory/missing]" in far.err) == (2, True)
    assert len(shell("runs", "list", "--json").json) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("pack.tml", "last"), "did you mean pack.toml?"),
        ((".", "last"), "it is a folder"),
        (("pack.toml",), "cases[0].run: the case names no run"),
        (("pack.toml", "prompt=odl"), "did you mean prompt=old?"),
        (("pack.toml", "promt=old"), "did you mean prompt?"),
        (("pack.toml", "last~99"), "there is no such run of a graph"),
        (("pack.toml", "01ZZZ"), "01ZZZ"),
        (("graph.json", "last"), "nothing reads this key"),
        (("pack.toml", "last", "--against", "last"), "is on both sides"),
        (("pack.toml", "last", "--fail-on", "luck"), "luck"),
        (("pack.toml", "last", "--fail-on", "shown"), "there is one set of runs"),
        (("pack.toml", "last", "--pair-by", "prompt"), "there is one set of runs"),
        (
            ("pack.toml", "last", "--against", "last~1", "--pair-by", "promt"),
            "did you mean prompt?",
        ),
        (("loop.json", "last"), "it is a link that leads to no file"),
    ],
)
def test_mistyped(desk: Path, shell: Shell, words: tuple[str, ...], said: str) -> None:
    """One line says what was probably meant; the exit code is 2, and nothing is recorded."""
    (desk / "loop.json").symlink_to("loop.json")
    before = len(shell("runs", "list", "--json").json)
    done = shell("eval", *words)
    assert (done.code, said in done.err) == (2, True), done.err
    assert "did you mean loop.json" not in done.err
    assert len(shell("runs", "list", "--json").json) == before


def test_two_sets(desk: Path, shell: Shell) -> None:
    """What got worse is named, and too few cases are said to be too few."""
    run(shell, "odd.json", "new")
    done = shell("eval", "pack.toml", "prompt=new", "--against", "prompt=old")
    assert done.code == 1
    assert "0 better, 1 worse, 0 unchanged" in done.out
    assert "fewer than 6, all one way, cannot show a change at 0.05" in done.out
    assert "verdict      failed" in done.out
    chance = shell(
        *("eval", "pack.toml", "prompt=new", "--against", "prompt=old"),
        *("--fail-on", "shown", "--json"),
    )
    assert (chance.code, chance.json["comparison"]["verdict"]) == (0, "undecided")
    assert (chance.json["verdict"], chance.json["exit_code"]) == ("passed", 0)
    assert desk.is_dir()


def test_a_verdict_convinces_others(desk: Path, shell: Shell) -> None:
    """Its bundle verifies by itself, and replays, without the runs that it judged."""
    done = shell("eval", "pack.toml", "prompt=old", "--json")
    run = done.json["eval_run_id"]
    assert shell("bundle", run, "-o", "eval.bundle.zip").code == 0
    checked = shell("verify", "eval.bundle.zip")
    assert checked.code == 0, checked.out
    assert (desk / "eval.bundle.zip").is_file()


def test_a_fixture_ends_as_it_is_read(desk: Path, shell: Shell) -> None:
    """It is JSON: another end of its name would be read as something else."""
    for name in ("good.toml", "good.yaml", "good", "good.txt"):
        refused = shell("runs", "fixture", "last", "-o", name)
        assert (refused.code, "call it good.json" in refused.err) == (2, True)
        assert not (desk / name).exists()


def test_a_changed_graph_is_allowed_by_an_option(desk: Path, shell: Shell) -> None:
    """Without it the graph is named; with it only what the stages did is compared."""
    other = json.loads(json.dumps(DOCUMENT))
    other["nodes"]["check"]["metadata"] = {"note": "new"}
    write_graph(desk, other, "noted.json")
    shell("runs", "fixture", "last", "-o", "f.json")
    shell("runs", "fixture", "last", "--ignore", "graph", "-o", "free.json")
    assert run(shell, "noted.json", "new") == 0
    strict = shell("eval", "f.json", "last")
    assert (strict.code, "the graph is another one" in strict.out) == (1, True)
    assert shell("eval", "free.json", "last").code == 0
    mistyped = shell("runs", "fixture", "last~1", "--ignore", "grph")
    assert (mistyped.code, "did you mean graph?" in mistyped.err) == (2, True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_code_is_kept_where_nobody_reads(desk: Path, shell: Shell) -> None:
    """Whether or not the answer can be printed: a failure is one, and so is what differs."""
    assert run(shell, "odd.json", "new") == 0
    muniment = Path(sys.executable).with_name("muniment")
    for words, code in (
        (("eval", "pack.toml", "last"), 1),
        (("eval", "pack.toml", "last", "--json"), 1),
        (("runs", "diff", "last~2", "last~3"), 1),
        (("eval", "pack.toml", "prompt=old"), 3),
    ):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [str(muniment), *words],
                cwd=desk,
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
            )
        assert done.returncode == code, (words, done.stderr)


def test_a_record_that_does_not_verify(desk: Path, shell: Shell) -> None:
    """No eval, fixture or difference of it; where it is shown, that is said first."""
    chosen = shell("runs", "list", "--json", "--limit", "1").json[0]["id"]
    shell("eval", "pack.toml", chosen)
    (ledger,) = desk.rglob("ledger.db")
    with closing(sqlite3.connect(ledger)) as file:
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    kept = ledger.read_bytes()
    forged = kept.replace(b'"branch":"success"', b'"branch":"succEss"')
    assert forged != kept
    ledger.write_bytes(forged)
    for one in ledger.parent.glob("cache.db*"):
        one.unlink()
    for words in (
        ("eval", "pack.toml", chosen),
        ("runs", "fixture", chosen),
        ("runs", "diff", chosen, chosen),
    ):
        done = shell(*words)
        assert (done.code, "the record does not verify" in done.err) == (1, True)
        assert f"run {chosen}, event" in done.err
    shown = shell("runs", "show", chosen)
    assert "NOT verified" in shown.out.splitlines()[1]
    assert "event" in shell("runs", "show", chosen, "--json").json["unverified"]
