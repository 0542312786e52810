"""Graphs by a pipe, files that are not there, edits that would break, and ceilings."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from graph_desk import write_graph

Shell = Any
COMMAND: dict[str, Any] = {
    "nodes": {"act": {"kind": "verify", "verify": {"command": "touch RAN"}}}
}
NONE = {"side_effect_level": "none"}


@pytest.fixture
def desk(work: Path, shell: Shell) -> Path:
    """Stand beside a graph that runs a command, and a ceiling that allows none."""
    assert shell("init").code == 0
    (work / "graph.json").write_text(json.dumps(COMMAND))
    (work / "none.json").write_text(json.dumps(NONE))
    return work


def piped(place: Path, *words: str, given: str) -> subprocess.CompletedProcess[str]:
    """Run the command line with *given* as what comes by a pipe."""
    line = [str(Path(sys.executable).with_name("muniment")), *words]
    return subprocess.run(
        line, cwd=place, input=given, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "words",
    [
        ("workflow", "validate", "-"),
        ("workflow", "inspect", "-"),
        ("workflow", "graph", "-"),
        ("workflow", "policy-report", "-"),
        ("workflow", "diff", "-", "graph.json"),
        ("plan", "-"),
        ("run", "-"),
        ("run", "-", "--dry"),
    ],
)
def test_a_graph_comes_by_a_pipe(words: tuple[str, ...], desk: Path) -> None:
    """JSON and YAML are read from the pipe, once, by each command that reads a graph."""
    for given in (json.dumps(COMMAND), _yaml()):
        done = piped(desk, *words, given=given)
        assert done.returncode == 0, done.stdout + done.stderr
    broken = piped(desk, *words, given='{"nodes": {"act": {"nope": 1}}}')
    assert broken.returncode in (1, 2)
    assert "nodes.act.nope" in broken.stdout + broken.stderr
    assert "stdin" in broken.stdout + broken.stderr


def _yaml() -> str:
    return "nodes:\n  act:\n    kind: verify\n    verify:\n      command: touch RAN\n"


@pytest.mark.parametrize(
    "words",
    [
        ("workflow", "validate", "grahp.json"),
        ("workflow", "graph", "grahp.json"),
        ("workflow", "edit", "graph.json", "pach.json", "-o", "x.json"),
        ("workflow", "validate", "graph.json", "--ceiling", "nonne.json"),
        ("run", "grahp.json"),
    ],
)
def test_a_file_that_is_not_there_suggests_another(
    words: tuple[str, ...], desk: Path, shell: Shell
) -> None:
    """A mistyped name is answered as a mistyped command is, without a number of errno."""
    (desk / "patch.json").write_text("[]")
    done = shell(*words)
    said = done.err.replace("\n", " ")
    assert (done.code, "did you mean" in said) == (2, True), said
    assert "Errno" not in said


def test_a_dash_is_standard_output(desk: Path, shell: Shell) -> None:
    """`-o -` prints, and makes no file of that name."""
    (desk / "patch.json").write_text('[{"op": "add", "path": "/name", "value": "x"}]')
    drawn = shell("workflow", "graph", "graph.json", "-o", "-")
    edited = shell("workflow", "edit", "graph.json", "patch.json", "-o", "-")
    assert (drawn.code, edited.code) == (0, 0)
    assert drawn.out.startswith("flowchart")
    assert json.loads(edited.out)["name"] == "x"
    assert not (desk / "-").exists()


def test_an_edit_that_breaks_a_graph_is_not_written(desk: Path, shell: Shell) -> None:
    """The findings are said; what was broken before may stay so, and can be mended."""
    bad = [{"op": "replace", "path": "/entry", "value": "gone"}]
    good = [{"op": "replace", "path": "/entry", "value": "act"}]
    other = [{"op": "add", "path": "/name", "value": "x"}]
    for name, rows in (("bad", bad), ("good", good), ("other", other)):
        (desk / f"{name}.json").write_text(json.dumps(rows))
    done = shell("workflow", "edit", "graph.json", "bad.json", "-o", "out.json")
    assert (done.code, (desk / "out.json").exists()) == (1, False)
    assert "ENTRY_UNKNOWN" in done.err

    (desk / "broken.json").write_text(json.dumps({**COMMAND, "entry": "gone"}))
    for patch, code in (("other", 0), ("good", 0)):
        words = ("workflow", "edit", "broken.json", f"{patch}.json", "-o")
        assert shell(*words, f"{patch}-out.json").code == code
    assert shell("workflow", "validate", "good-out.json").code == 0


def test_a_patch_with_a_key_twice_is_refused(desk: Path, shell: Shell) -> None:
    """One of the two would be passed over."""
    (desk / "p.json").write_text('[{"op": "remove", "op": "add", "path": "/name"}]')
    done = shell("workflow", "edit", "graph.json", "p.json", "-o", "x.json")
    assert (done.code, (desk / "x.json").exists()) == (2, False)
    assert "there twice" in done.err


def test_a_picture_of_a_broken_graph_says_so(desk: Path, shell: Shell) -> None:
    """It is drawn, and what is wrong is on the error stream, with exit code 1."""
    (desk / "broken.json").write_text(json.dumps({**COMMAND, "entry": "gone"}))
    done = shell("workflow", "graph", "broken.json")
    assert (done.code, done.out.startswith("flowchart")) == (1, True)
    assert "ENTRY_UNKNOWN" in done.err


def test_a_ceiling_is_a_file_on_each_command(desk: Path, shell: Shell) -> None:
    """`--ceiling` holds what is validated, planned and run; two ceilings are refused."""
    for words in (("workflow", "validate"), ("plan",), ("run",)):
        done = shell(*words, "graph.json", "--ceiling", "none.json")
        assert done.code in (1, 4), words
        assert "CEILING_EXCEEDED" in (done.out + done.err).replace("\n", " ")
    assert not (desk / "RAN").exists()
    both = shell("run", "graph.json", "--ceiling", "none.json", "-p", "ceiling={}")
    assert (both.code, "write one" in both.err) == (2, True)
    program = shell("run", "x.py", "--ceiling", "none.json")
    assert (program.code, "only a graph" in program.err) == (2, True)


def test_a_report_of_policies_is_a_table(desk: Path, shell: Shell) -> None:
    """Each member stands in a line of its own, an empty list as nothing."""
    said = {"tools": [], "workspace_roots": ["a", "b"], **NONE}
    (desk / "none.json").write_text(json.dumps(said))
    done = shell("workflow", "policy-report", "graph.json", "--ceiling", "none.json")
    rows = [line.split() for line in done.out.splitlines()]
    assert ["tools", "nothing"] in [row[-2:] for row in rows]
    assert ["workspace_roots", "a,", "b"] in [row[-3:] for row in rows]
    write_graph(desk)
    assert "{" not in shell("workflow", "policy-report", "graph.json").out


@pytest.mark.parametrize("named", [False, True])
def test_a_resume_from_another_folder(named: bool, desk: Path) -> None:
    """What a killed run goes on with runs where it began; its graph may be named there."""
    contract = {"command": "touch began; test -e open || sleep 60; cat data.txt"}
    node = {"kind": "verify", "verify": {"contract_path": "contract.json"}}
    (desk / "contract.json").write_text(json.dumps(contract))
    (desk / "graph.json").write_text(json.dumps({"nodes": {"act": node}}))
    (desk / "data.txt").write_text("alpha")
    line = [str(Path(sys.executable).with_name("muniment")), "run", "graph.json"]
    with subprocess.Popen([*line, "--task", "t"], cwd=desk) as running:
        while not (desk / "began").exists():
            time.sleep(0.05)
        running.kill()
    elsewhere = desk / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "data.txt").write_text("omega")
    (desk / "open").touch()
    more = ("--program", "../graph.json") if named else ()
    done = piped(elsewhere, "resume", "last", *more, given="")
    assert done.returncode == 0, done.stdout + done.stderr
    told = piped(elsewhere, "runs", "show", "last", "--json", given="")
    record = json.loads(told.stdout)["record"]
    assert record["execution"] == {"cwd": ".", "folder": str(desk)}
    assert ("alpha" in told.stdout, "omega" in told.stdout) == (True, False)
    assert piped(elsewhere, "replay", "last", given="").returncode == 0
