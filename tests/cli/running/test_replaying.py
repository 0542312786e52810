"""``muniment replay`` and ``muniment resume``: the same again, and on from there."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import muniment
from muniment.plugins import Plugins
from programs import TRIAGE, write_program

pytestmark = pytest.mark.usefixtures("made")


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    """Let programs be imported anew, as in a process of their own."""
    before = list(sys.path)
    yield
    sys.path[:] = before
    for name in [one for one in sys.modules if one.startswith("program_")]:
        del sys.modules[name]


@pytest.fixture
def file(work: Path) -> Path:
    """Write the program that the tests run."""
    return write_program(work)


@pytest.fixture
def run(shell: Any, file: Path) -> str:
    """Run the program once, and return the run's id."""
    done = shell("run", f"{file.name}:triage", "-p", "ticket=T-1", "--json")
    return str(done.json["run"])


def test_a_replay_derives_the_same(shell: Any, run: str) -> None:
    """Exit code 0, and the verdict stands in a new run."""
    done = shell("replay", run, "--json")
    assert (done.code, done.json["verdict"]) == (0, "acceptable")
    assert done.json["compared"] == 4
    with muniment.open(readonly=True) as ledger:
        events = list(ledger.events(run=done.json["recorded_as"]))
        judged = next(event for event in events if event.type == "replay.judged")
    assert judged.raw["replay_of"] == run


def test_recorded_source_is_trusted_only_when_told_to(shell: Any, work: Path) -> None:
    """What the capsule cannot hold cannot be told, unless its source is trusted."""
    text = """
from muniment_plugins.harness import (
    Experiment, Spec, bounded_synthesis, execute_capsule, generate_spec, specify_claim,
)

def judge(before, now):
    import os.path
    return {"passed": os.path.basename("a/b") == "b"}

main = (
    Experiment.builder()
    .datasource(lambda ctx: [1, 2])
    .add_step(specify_claim(claim={"id": "c", "text": "t"}))
    .add_step(generate_spec(spec=Spec()))
    .add_step(bounded_synthesis(code="def fit_and_eval(d): return {'n': len(d)}"))
    .add_step(execute_capsule())
    .hypothesis("own", verifier=judge)
    .build()
)
"""
    file = write_program(work, text)
    run = shell("run", f"{file.name}:main", "--json").json["run"]
    assert shell("replay", run).code == 0
    file.unlink()
    done = shell("replay", run)
    assert (done.code, done.out) == (3, "")
    assert "source does not run by itself: " in done.err
    assert "--trust-source" in done.err
    trusted = shell("replay", run, "--trust-source", "--json")
    assert (trusted.code, trusted.json["verdict"]) == (0, "acceptable")


def test_a_prefix_names_the_run(shell: Any, run: str) -> None:
    """A unique beginning of the id is enough, and the verdict need not be recorded."""
    done = shell("replay", run[:20].lower(), "--no-record")
    assert done.code == 0
    assert "no: --no-record" in done.out
    assert len(shell("runs", "--json").json) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes on Linux")
def test_names_that_are_no_text_are_names(
    shell: Any, run: str, work: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file, a folder or a variable whose name is not UTF-8 stands in no way."""
    other = work / "other\udcff"
    other.mkdir()
    (other / file.name).write_text(TRIAGE)
    monkeypatch.setenv("OTHER\udcff", "of \udcff")
    for given in (
        ("--readable", str(other)),
        ("--env", "A=of \udcff"),
        ("--env", "OTHER\udcff"),
        ("--program", f"{other / file.name}:triage"),
    ):
        done = shell("replay", run, "--no-record", *given)
        assert (done.code, "acceptable" in done.out) == (0, True), done.err
    done = shell("replay", run, "--program", f"{other / 'none.py'}:triage")
    assert done.code in {2, 3}
    assert "cli/bug" not in done.err
    assert "none.py" in done.err


def test_people_see_the_first_divergence(shell: Any, run: str, file: Path) -> None:
    """A changed program is named by field, expected and got; the exit code is 1."""
    file.write_text(TRIAGE.replace('"query": number', '"query": number + 1'))
    given = ("--program", f"{file.name}:triage")
    done = shell("replay", run, *given)
    assert done.code == 1
    lines = {line[:12].strip(): line[12:].strip() for line in done.out.splitlines()}
    assert lines["verdict"] == "unacceptable"
    assert lines["field"] == "request.query"
    assert (lines["expected"], lines["got"]) == ("0", "1")
    assert 'effect scope "map/0"' in lines["diverged"]
    found = shell("replay", run, *given, "--json").json["first_divergence"]
    assert (found["field"], found["expected"], found["got"]) == ("request.query", 0, 1)


def test_what_the_program_raises_is_said(shell: Any, run: str, file: Path) -> None:
    """A program that fails where it completed is named with its exception."""
    file.write_text(TRIAGE.replace("    return {", "    undefined_name\n    return {"))
    done = shell("replay", run, "--program", f"{file.name}:triage")
    assert done.code == 1
    assert "NameError: name 'undefined_name' is not defined" in done.out


def test_a_program_that_is_broken_now_is_no_bug_of_ours(
    shell: Any, run: str, file: Path
) -> None:
    """What importing it raises is said, with the file, the rule and the option."""
    file.write_text("x = (\n")
    done = shell("replay", run, "--program", f"{file.name}:triage")
    assert (done.code, done.out) == (3, "")
    assert "SyntaxError" in done.err
    assert f"{file.name}, line 1: importing it fails" in done.err


def test_a_list_of_runs_says_what_a_replay_found(
    shell: Any, run: str, file: Path
) -> None:
    """A replay's run is named by its verdict; the run that it judged, by its id."""
    assert shell("replay", run).code == 0
    file.write_text(TRIAGE.replace('"text": "t"', '"text": "u"'))
    assert shell("replay", run, "--program", f"{file.name}:triage").code == 1
    lines = shell("runs", "--name", "replay of *").out.splitlines()[1:]
    assert [line.split("  ")[-1].strip() for line in lines] == [
        f"unacceptable replay of {run[:13]}",
        f"acceptable replay of {run[:13]}",
    ]
    said = shell("runs", "explain", lines[0].split()[0])
    assert f"a replay of {run} was judged unacceptable" in said.out
    assert "text was 't', is 'u'" in said.out


def test_an_observer_rejects_nothing(shell: Any, run: str, file: Path) -> None:
    """The mode decides what a difference means."""
    file.write_text(TRIAGE.replace('"text": "t"', '"text": "u"'))
    given = ("--program", f"{file.name}:triage")
    assert shell("replay", run, *given, "--mode", "strict").code == 1
    assert shell("replay", run, *given, "--mode", "observational").code == 0
    assert shell("replay", run, "--mode", "none").code == 2


def test_an_observer_is_told_all_that_differs(shell: Any, run: str, file: Path) -> None:
    """Both processes go on after a changed request, and agree on what answers it."""
    changed = TRIAGE.replace('"query": number', '"query": number + 1')
    file.write_text(changed.replace('"prompt": "secret', '"prompt": "other'))
    given = ("--program", f"{file.name}:triage", "--mode", "observational", "--json")
    done = shell("replay", run, *given)
    assert (done.code, done.json["verdict"]) == (0, "acceptable_with_warnings")
    found = [(one["what"], one["scope"]) for one in done.json["findings"]]
    assert found == [("effect", ""), ("effect", "map/0"), ("effect", "map/1")]
    assert done.json["result_digest"] is not None


def test_a_failed_run_replays_to_its_failure(shell: Any, file: Path) -> None:
    """The same failure is the same result, and acceptable."""
    options = ("-p", "ticket=1", "-p", "tool=bad", "--json")
    failed = shell("run", f"{file.name}:triage", *options).json["run"]
    assert shell("replay", failed).code == 0


def test_the_program_is_not_taken_from_beside_the_ledger(
    shell: Any, run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Path
) -> None:
    """Whoever is elsewhere names it; the refusal says how."""
    monkeypatch.chdir(tmp_path)
    done = shell("--ledger", made, "replay", run)
    assert (done.code, done.out) == (4, "")
    assert "[program/beside]" in done.err
    named = done.err.rpartition("--program ")[2].partition("`")[0]
    assert shell("--ledger", made, "replay", run, "--program", named).code == 0


def test_a_program_that_is_gone_can_be_named(
    shell: Any, run: str, file: Path, tmp_path: Path
) -> None:
    """Without it nothing can be told; with --program it can."""
    moved = file.rename(tmp_path / "moved_program.py")
    done = shell("replay", run)
    assert done.code == 3
    assert "replay/program" in done.err
    assert "--program" in done.err
    assert shell("replay", run, "--program", f"{moved}:triage").code == 0


def test_what_the_program_prints_is_not_the_answer(shell: Any, run: str) -> None:
    """Stdout is one document."""
    done = shell("replay", run, "--json")
    assert "thinking" not in done.out
    assert "thinking" in done.err


def test_a_program_that_ends_its_process_is_reported(
    shell: Any, run: str, file: Path
) -> None:
    """A replay that dies is one line and exit code 3."""
    file.write_text(TRIAGE.replace('print("thinking")', "import os; os._exit(7)"))
    done = shell("replay", run, "--program", f"{file.name}:triage")
    assert done.code == 3
    assert "replay/child" in done.err
    assert "code 7" in done.err


def test_network_and_files_are_shut(shell: Any, run: str, file: Path) -> None:
    """A program that reaches out in a replay is caught at it."""
    reach = "import socket; socket.create_connection(('127.0.0.1', 9))"
    file.write_text(TRIAGE.replace('print("thinking")', reach))
    done = shell("replay", run, "--program", f"{file.name}:triage", "--json")
    assert done.code == 1
    assert "socket" in json.dumps(done.json["findings"])


def test_the_child_has_no_key(
    shell: Any, run: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signing key of the environment does not reach the program."""
    said = 'print("thinking")', 'import os; assert "MUNIMENT_KEY" not in os.environ'
    file.write_text(TRIAGE.replace(*said))
    home = Path(os.environ["MUNIMENT_HOME"])
    key = next(home.glob("ledgers/*/keys/writer.pem"))
    monkeypatch.setenv("MUNIMENT_KEY", str(key))
    assert shell("replay", run, "--program", f"{file.name}:triage").code == 0


def test_a_process_can_leave_the_network() -> None:
    """Where it says that it did, no route leads anywhere."""
    code = (
        "import socket\n"
        "from muniment_plugins.capsule.isolation.confinement import leave_network\n"
        "from muniment_plugins.capsule.isolation.native import System\n"
        "left = 'missing' not in leave_network(System())\n"
        "names = [name for _, name in socket.if_nameindex()]\n"
        "print(left, names == ['lo'] or not left)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[1] == "True"


def test_without_write_access_the_verdict_is_only_printed(
    shell: Any, run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Path
) -> None:
    """A stranger can replay, and is told why the verdict is not recorded."""
    monkeypatch.setenv("MUNIMENT_HOME", str(tmp_path / "stranger"))
    done = shell("--ledger", made, "replay", run)
    assert done.code == 0
    assert "no: there is no key" in done.out


def test_a_failed_run_is_resumed(shell: Any, work: Path) -> None:
    """What completed is not performed again; what failed is."""
    text = """
from pathlib import Path

def one(request):
    with open("performed", "a") as file:
        file.write("x")
    return 1

def two(request):
    return {"ok": Path("repaired").read_text()}

def main(run):
    run.effect("tool", {"name": "one"}, one)
    return run.effect("tool", {"name": "two"}, two)
"""
    file = write_program(work, text)
    failed = shell("run", file.name, "--json")
    assert failed.code == 1
    (work / "repaired").write_text("yes")
    done = shell("resume", failed.json["run"], "--json")
    assert (done.code, done.json["result"]) == (0, {"ok": "yes"})
    assert (work / "performed").read_text() == "x"
    again = shell("resume", failed.json["run"])
    assert again.code == 4
    assert "run/complete" in again.err


def test_doubt_is_settled_by_whoever_resumes(shell: Any, work: Path) -> None:
    """An effect that may have happened is refused, and repeated on request."""
    text = """
import os
from pathlib import Path

def once(request):
    if not Path("died").exists():
        Path("died").touch()
        raise KeyboardInterrupt
    return 1

def main(run):
    return run.effect("tool", {"name": "once"}, once)
"""
    file = write_program(work, text)
    assert shell("run", file.name).code == 130
    interrupted = shell("runs", "--json").json[0]["id"]
    done = shell("resume", interrupted)
    assert done.code == 4
    assert "effect/doubt" in done.err
    assert shell("resume", interrupted, "--repeat-doubtful", "tool").code == 0


def test_an_async_run_is_resumed(shell: Any, work: Path) -> None:
    """A coroutine function goes on as it began."""
    text = """
from pathlib import Path

def once(request):
    return Path("repaired").read_text()

async def main(run):
    return await run.aeffect("data", {"name": "once"}, once)
"""
    file = write_program(work, text)
    failed = shell("run", file.name, "--json")
    assert failed.code == 1
    (work / "repaired").write_text("yes")
    assert shell("resume", failed.json["run"], "--json").json["result"] == "yes"
    assert shell("replay", failed.json["run"]).code == 0


class Quiet:
    """Refuses notes, and the end of a run."""

    @muniment.hookimpl
    def before_append(self, event_type: str) -> str | None:
        """Go by the type."""
        return "be quiet" if event_type in {"note.added", "run.completed"} else None


def test_what_a_plugin_refused_needs_no_plugin(
    shell: Any, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both processes are refused it from the record, in another home of plugins."""
    text = """
def main(run):
    try:
        run.record("note.added", {"text": "loud"})
    except Exception as error:
        run.record("claim.stated", {"id": "c", "text": str(error)})
"""
    file = write_program(work, text)
    monkeypatch.syspath_prepend(work)
    program = importlib.import_module(file.stem).main
    with muniment.open(plugins=Plugins((), {"quiet": Quiet()})) as ledger:
        done = ledger.execute(program)
        assert done.status == "refused"
    replayed = shell("replay", done.run_id, "--program", f"{file.name}:main", "--json")
    assert (replayed.code, replayed.json["verdict"]) == (0, "acceptable")
    file.write_text(text.replace("loud", "soft").replace('"c"', '"d"'))
    other = shell("replay", done.run_id, "--program", f"{file.name}:main", "--json")
    assert (other.code, other.json["first_divergence"]["field"]) == (1, "id")


@pytest.mark.parametrize("command", ["replay", "resume"])
def test_an_unknown_run_is_a_usage_error(shell: Any, command: str) -> None:
    """A prefix that fits no run is one line."""
    done = shell(command, "ZZZ")
    assert (done.code, done.out) == (2, "")
    assert "run/unknown" in done.err
