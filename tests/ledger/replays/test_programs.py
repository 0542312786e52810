"""Programs: what a run records of them, and where a replay finds them again."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, cast

import pytest

from muniment.encoding.canonical import JsonValue
from muniment.errors import CannotTellError
from muniment.ledger import Ledger
from muniment.programs.files import files_of
from muniment.programs.functions import find, given_in
from muniment.programs.source_text import digests_of
from muniment.replays.replay import replay
from muniment.runs.run import Run

RECORD = """
import muniment

def add(run, factor=2):
    return factor * run.effect("data", {"name": "n"}, lambda _: 21)

ledger = muniment.Ledger.create("ledger.db", home="home")
print(ledger.execute(add).run_id)
"""
REPLAY = """
print(muniment.replay(ledger, ledger.execute(add).run_id).verdict)
"""
AGAIN = """
import muniment, sys

def add(run, factor={factor}):
    return factor * run.effect("data", {{"name": "n"}}, lambda _: 21)

report = muniment.replay(muniment.Ledger.open("ledger.db", home="home"), sys.argv[1])
print(report.verdict)
"""
SAME_SOURCE = AGAIN.format(factor=2)


def script(file: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run *text* as the script *file*."""
    file.write_text(text)
    return subprocess.run(
        [sys.executable, file.name, *arguments],
        cwd=file.parent,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_script_replays_what_it_ran_itself(tmp_path: Path) -> None:
    """The program of the script that is running need not be given again."""
    done = script(tmp_path / "one.py", RECORD + REPLAY)
    assert done.stdout.splitlines()[1:] == ["acceptable"], done.stderr


@pytest.mark.parametrize(
    ("name", "text", "verdict"),
    [
        ("one.py", SAME_SOURCE, "acceptable"),
        ("one.py", AGAIN.format(factor=3), "unacceptable"),
        ("two.py", SAME_SOURCE, "acceptable"),
        ("two.py", AGAIN.format(factor=3), "program/importing"),
        ("one.py", SAME_SOURCE.replace("add", "sum"), "program/changed"),
    ],
)
def test_another_script(tmp_path: Path, name: str, text: str, verdict: str) -> None:
    """The script itself counts, also changed; another one, where its source is equal.

    Else the file that ran is imported: only as it was, and nothing runs meanwhile.
    """
    run = script(tmp_path / "one.py", RECORD).stdout.strip()
    done = script(tmp_path / name, text, run)
    assert verdict in (done.stdout + done.stderr)


def test_main_is_never_imported() -> None:
    """What is not a program of the script that runs is asked for."""
    with pytest.raises(CannotTellError, match="__main__:nothing cannot be imported"):
        find({"import": "__main__:nothing", "file": "a.py"}, "R")
    with pytest.raises(CannotTellError, match="replay/program"):
        find({"import": "__main__:", "file": "a.py"}, "R")


def test_two_threads_find_one_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who finds a module that another thread is importing waits until it is whole."""
    name = "found_by_two"
    text = "import time\ntime.sleep(0.3)\ndef program(run): return 7\n"
    file = tmp_path / f"{name}.py"
    file.write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    files = cast("JsonValue", files_of(file, name))
    said = {"import": f"{name}:program", "file": file.name, "files": files}

    def late() -> Any:
        while name not in sys.modules and not first.done():
            time.sleep(0.001)
        return find(said, "r")

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(find, said, "r")
        waiting = pool.submit(late)
        assert first.result(300) is waiting.result(300)
    sys.modules.pop(name)


class Gate(MetaPathFinder):
    """Finds nothing, and keeps whoever looks for *name* until it is let go."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.reached, self.go = threading.Event(), threading.Event()

    def pause(self) -> None:
        """Say that somebody is here, and wait."""
        self.reached.set()
        assert self.go.wait(300)

    def find_spec(self, fullname: str, *_: object) -> None:
        """Wait, if it is the one."""
        if fullname == self.name:
            self.pause()


def test_a_thread_finds_while_another_has_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread finds what is there, though another ends its import meanwhile."""
    slow, sought = "found_slowly", "found_meanwhile"
    text = "import gate_of_slow\ngate_of_slow.pause()\ndef program(run): return 7\n"
    (tmp_path / f"{slow}.py").write_text(text)
    (tmp_path / f"{sought}.py").write_text("def program(run): return 8\n")
    (tmp_path / "desk").mkdir()
    monkeypatch.chdir(tmp_path / "desk")
    monkeypatch.syspath_prepend(tmp_path)
    loading, looking = Gate("nothing"), Gate(sought)
    monkeypatch.setitem(sys.modules, "gate_of_slow", cast("Any", loading))
    monkeypatch.setattr(sys, "meta_path", [looking, PathFinder])

    def found(name: str) -> Any:
        files = cast("JsonValue", files_of(tmp_path / f"{name}.py", name))
        return find({"import": f"{name}:program", "files": files}, "r")

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(found, slow)
        assert loading.reached.wait(300)
        second = pool.submit(found, sought)
        assert looking.reached.wait(300)
        loading.go.set()
        assert first.result(300)(None) == 7
        looking.go.set()
        assert second.result(300)(None) == 8
    for name in (slow, sought):
        sys.modules.pop(name)


def nested(number: int) -> str:
    """Return a text whose tree is as deep as *number* says."""
    return f"def one(): return {'(' * number}1{' + 1)' * number}\n"


def test_threads_parse_beside_each_other() -> None:
    """No thread is told of a fault that its text has not, whoever parses meanwhile."""
    text = (nested(20) + "x = [1, 2]\n") * 20
    expected = digests_of(nested(20).encode(), ["one"])

    def let_others(phase: str, info: object) -> None:
        del phase, info
        time.sleep(0)

    def read() -> list[set[str]]:
        return [digests_of(text.encode(), ["one"]) for _ in range(20)]

    gc.callbacks.append(let_others)
    threshold = gc.get_threshold()
    gc.set_threshold(50)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = [one.result() for one in [pool.submit(read) for _ in range(4)]]
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(let_others)
    assert found == [[expected] * 20] * 4


def test_each_command_advises_itself(ledger: Ledger) -> None:
    """Whoever resumes or forks a run without its program is told how to, not to replay."""

    def nowhere(run: Run) -> None:
        raise ValueError(run.name)

    run = ledger.execute(nowhere).run_id
    asked: dict[str, Callable[[], object]] = {
        f"ledger.resume(run, program=…), or `muniment resume {run}": (
            lambda: ledger.resume(run)
        ),
        f"ledger.fork(run, at=…, program=…), or `muniment fork --at 2 {run}": (
            lambda: ledger.fork(run, at=2)
        ),
        f"replay(ledger, run, program=…), or `muniment replay {run}": (
            lambda: replay(ledger, run)
        ),
    }
    for advice, ask in asked.items():
        with pytest.raises(CannotTellError) as error:
            ask()
        assert f"{advice} --program " in error.value.remedy


@pytest.mark.parametrize(
    ("said", "count"),
    [(None, 0), (5, 0), ("ab", 0), ({"a": {}}, 0), ([5, {}, None], 1)],
)
def test_functions_of_a_record_may_be_anything(said: JsonValue, count: int) -> None:
    """What a stranger wrote in place of the functions is left out."""
    assert len(given_in({"name": "a:b/1", "functions": said})) == count
