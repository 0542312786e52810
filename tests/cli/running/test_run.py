"""``muniment run``: what is named is run, recorded, and judged by the exit code."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import muniment
from programs import write_program

INSTALLED = Path(sys.executable).with_name("muniment")

pytestmark = pytest.mark.usefixtures("made")


def types_of(run: str) -> list[str]:
    """Return the types of the run's events."""
    with muniment.open(readonly=True) as ledger:
        return [event.type for event in ledger.events(run=run)]


def test_a_function_of_a_file_is_run(shell: Any, work: Path) -> None:
    """The run is recorded, and the answer is one document with its result."""
    file = write_program(work)
    done = shell("run", f"{file.name}:triage", "-p", "ticket=T-1", "--json")
    assert done.code == 0
    assert done.json["status"] == "completed"
    assert done.json["result"] == {"share": {"$float": "1.0"}, "ticket": "T-1"}
    assert types_of(done.json["run"])[0] == "run.started"
    assert "thinking" in done.err


def test_people_see_the_result_and_what_the_program_prints(
    shell: Any, work: Path
) -> None:
    """Without --json the program's own output stays where it was."""
    file = write_program(work)
    done = shell("run", f"{file.name}:triage", "-p", "ticket=T-1")
    assert done.out.startswith("thinking\n")
    assert '{"share": 1.0, "ticket": "T-1"}' in done.out
    assert "muniment runs show" in done.err


def test_params_are_json_where_they_can_be(shell: Any, work: Path) -> None:
    """A number is a number, a list a list, and all else is text."""
    file = write_program(work, "def main(run, **given): return given\n")
    pairs = ("a=1", "b=[1, 2]", "c=true", 'd="1"', "e=T-1", "f=x=y", "g=")
    done = shell(
        "run", file, *(part for one in pairs for part in ("-p", one)), "--json"
    )
    assert done.json["result"] == {
        "a": 1, "b": [1, 2], "c": True, "d": "1", "e": "T-1", "f": "x=y", "g": "",
    }  # fmt: skip


def test_name_labels_and_tenant_are_recorded(shell: Any, work: Path) -> None:
    """What the command line says about a run stands in its first event."""
    file = write_program(work)
    options = ("--name", "nightly", "--label", "team=x", "--tenant", "acme")
    done = shell("run", f"{file}:judge", *options, "--json")
    with muniment.open(readonly=True) as ledger:
        started = next(ledger.events(run=done.json["run"]))
    assert started.tenant == "acme"
    assert started.raw["name"] == "nightly"
    assert started.raw["labels"] == {"team": "x"}


@pytest.mark.parametrize(
    ("name", "code", "status"),
    [
        ("triage -p ticket=1 -p tool=bad", 1, "failed"),
        ("judge -p passed=false", 1, "completed"),
        ("judge", 0, "completed"),
        ("refuse", 4, "refused"),
        ("later", 0, "completed"),
    ],
)
def test_the_exit_code_is_the_verdict(
    shell: Any, work: Path, name: str, code: int, status: str
) -> None:
    """Failed is 1, refused is 4, a failed verdict is 1, with and without --json."""
    file = write_program(work)
    function, *options = name.split()
    assert shell("run", f"{file}:{function}", *options).code == code
    done = shell("run", f"{file}:{function}", *options, "--json")
    assert (done.code, done.json["status"]) == (code, status)
    assert done.json["ok"] is (code == 0)


def test_an_interrupted_run_says_how_to_go_on(shell: Any, work: Path) -> None:
    """Ctrl-C ends with 130 and the command that resumes the run."""
    file = write_program(work)
    done = shell("run", f"{file}:stop")
    assert done.code == 130
    assert "muniment resume 0" in done.err


def test_main_is_the_default(shell: Any, work: Path) -> None:
    """Of several functions that take a run, ``main`` is run without a name."""
    file = write_program(work, "def a(run): return 1\ndef main(run): return 2\n")
    assert shell("run", file, "--json").json["result"] == 2


def test_the_only_program_is_the_default(shell: Any, work: Path) -> None:
    """A single function that takes a run needs no name; helpers do not count."""
    file = write_program(work, "def help(x): return x\ndef job(run): return help(3)\n")
    assert shell("run", file, "--json").json["result"] == 3


def test_an_experiment_runs_itself(shell: Any, work: Path) -> None:
    """An object whose ``run`` takes a ledger is executed on the one that is meant."""
    text = """
class Trial:
    def run(self, *, ledger, count=1):
        return ledger.execute(body, params={"count": count}, name="trial")

def body(inside, count):
    inside.record("verdict.reached", {"hypothesis": "h", "verifier": "v", "passed": count < 3})
    return count

trial = Trial()
"""
    file = write_program(work, text.replace("inside, count", "lane, count").replace(
        "inside.record", "lane.record"
    ))  # fmt: skip
    done = shell("run", file, "-p", "count=2", "--json")
    assert (done.code, done.json["name"], done.json["result"]) == (0, "trial", 2)
    assert shell("run", f"{file}:trial", "-p", "count=3").code == 1
    refused = shell("run", file, "-p", "number=3")
    assert (refused.code, refused.out) == (2, "")
    assert "it takes count" in refused.err
    assert shell("run", file, "--name", "x").code == 2


def test_a_file_that_runs_itself_is_run_once(shell: Any, work: Path) -> None:
    """What a file records at its top level is the run, on the ledger that is meant."""
    text = """
import muniment

def main(run):
    return 5

with muniment.open(create=True) as ledger:
    ledger.execute(main)
"""
    file = write_program(work, text)
    done = shell("run", file, "--json")
    assert (done.code, done.json["result"]) == (0, 5)
    assert len(shell("runs", "--json").json) == 1


def test_a_dry_run_writes_nothing(shell: Any, work: Path) -> None:
    """It ends at the first effect that cannot say its answer, which is not a failure."""
    file = write_program(work)
    with muniment.open(readonly=True) as ledger:
        before = ledger.head
    done = shell("run", f"{file}:triage", "-p", "ticket=1", "--dry", "--json")
    assert (done.code, done.json["run"], done.json["status"]) == (0, None, "dry")
    assert "llm" in done.json["error"]
    assert shell("run", f"{file}:judge", "--dry").code == 0
    with muniment.open(readonly=True) as ledger:
        assert ledger.head == before


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("flow.yaml", 2, "run/file"),
        ("flow.json:x", 2, "run/format"),
        ("missing.py", 2, "run/file"),
        ("no_such_module:main", 2, "run/module"),
        ("json.nope:main", 2, "run/module"),
        ("{file}:nope", 2, "run/name"),
        ("{file}", 2, "several programs"),
        ("{file}:number", 2, "it is not a program, but of type int [run/program]"),
        ("{file}:triage", 2, "ticket"),
        ("{file}:triage -p ticket=1 -p more=2", 2, "more"),
        ("{file}:triage -p ticket", 2, "KEY=VALUE"),
        ("{file}:triage -p ticket=1 -p ticket=2", 2, "twice"),
    ],
)
def test_what_cannot_be_run_is_said_before_a_run_begins(
    shell: Any, work: Path, arguments: str, code: int, said: str
) -> None:
    """A wrong name, file or parameter is one line, and nothing is recorded."""
    file = write_program(work)
    done = shell("run", *arguments.format(file=file.name).split())
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert len(done.err.splitlines()) == 1
    assert shell("runs", "--json").json == []


def test_a_broken_file_names_its_line(shell: Any, work: Path) -> None:
    """A syntax error and an error at the top level say where they are."""
    bad = write_program(work, "x = 1\ndef main(run:\n")
    assert f"{bad.name}, line 2" in shell("run", bad.name).err
    worse = write_program(work, "x = 1\n\nraise ValueError('oh')\n")
    done = shell("run", worse.name)
    assert done.code == 3
    assert f"{worse.name}, line 3: importing it fails: ValueError: oh" in done.err


def test_a_name_that_is_taken_is_said(shell: Any, work: Path) -> None:
    """A file that is called like a module in use is not confused with it."""
    (work / "json.py").write_text("def main(run): return 1\n")
    done = shell("run", "json.py")
    assert done.code == 2
    assert "run/module-name" in done.err
    (work / "two words.py").write_text("def main(run): return 1\n")
    assert "run/module-name" in shell("run", "two words.py").err


def test_a_file_in_a_package_is_imported_with_its_package(
    shell: Any, work: Path
) -> None:
    """Relative imports work, and the recorded name has the package in it."""
    package = work / "jobs_of_test"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "numbers_used.py").write_text("number = 4\n")
    text = "from .numbers_used import number\ndef main(run): return number\n"
    (package / "nightly.py").write_text(text)
    done = shell("run", "jobs_of_test/nightly.py", "--json")
    assert done.json["result"] == 4
    with muniment.open(readonly=True) as ledger:
        started = next(ledger.events(run=done.json["run"]))
    program: Any = started.raw["program"]
    assert program["import"] == "jobs_of_test.nightly:main"
    assert program["file"] == "jobs_of_test/nightly.py"


def test_without_a_key_nothing_is_run(
    shell: Any, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else's ledger is refused before the program is called."""
    file = write_program(work)
    monkeypatch.setenv("MUNIMENT_HOME", str(tmp_path / "stranger"))
    done = shell("run", f"{file}:judge")
    assert done.code == 4
    assert "ledger/unpinned" in done.err


def test_parameters_that_do_not_fit_are_named(shell: Any, work: Path) -> None:
    """A mistyped parameter shows which ones the program takes; nothing is recorded."""
    file = write_program(work)
    done = shell("run", f"{file.name}:triage", "-p", "tickt=T-1")
    assert (done.code, done.out) == (2, "")
    assert "it takes ticket, tool='search' [cli/usage]" in done.err
    assert shell("runs", "--json").json == []


def test_a_program_that_ends_the_process_is_said(shell: Any, work: Path) -> None:
    """`sys.exit` interrupts the run, and never ends the command without a word."""
    file = write_program(work, "import sys\n\ndef main(run):\n    sys.exit(0)\n")
    done = shell("run", file.name)
    assert done.code == 1
    assert "interrupted" in done.out
    assert f"{file.name} ended the process with 0" in done.err
    early = shell("run", write_program(work, "import sys\nsys.exit(0)\n").name)
    assert (early.code, early.out) == (3, "")
    assert "before anything was run" in early.err


def test_a_file_without_a_program_says_what_one_is(shell: Any, work: Path) -> None:
    """The remedy is the shape of a program, not a name that is not there."""
    done = shell("run", write_program(work, "x = 1\n").name)
    assert done.code == 2
    assert "define a function whose first parameter is called run" in done.err


def test_a_directory_is_no_program(shell: Any) -> None:
    """What is neither a Python file nor a module is said to be neither."""
    done = shell("run", ".")
    assert done.code == 2
    assert "neither a file that ends in .py nor the name of a module" in done.err


def test_the_installed_command_runs_too(installed: Any, work: Path) -> None:
    """As a process of its own, with the program beside it."""
    file = write_program(work)
    done = installed("run", f"{file.name}:triage", "-p", "ticket=T-1", "--json")
    assert json.loads(done.out)["ok"] is True


def test_progress_takes_nothing_from_stdout(work: Path) -> None:
    """With a terminal on stderr alone, what the program prints still goes to stdout."""
    file = write_program(work)
    reader, writer = pty.openpty()
    command = [str(INSTALLED), "run", f"{file.name}:triage", "-p", "ticket=T-1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=writer) as child:
        os.close(writer)
        assert child.stdout is not None
        out = child.stdout.read()
        shown = os.read(reader, 65536)
    os.close(reader)
    assert child.returncode == 0
    assert out.startswith(b"thinking\n")
    assert b"\x1b" not in out
    assert b"thinking" not in shown
