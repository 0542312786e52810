"""Programs: what a run records of them, and where a replay finds them again."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest

from muniment.canonical import JsonValue
from muniment.errors import CannotTellError
from muniment.program_files import files_of
from muniment.programs import find

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
    """What is no program of the script that runs is asked for."""
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
        assert first.result(60) is waiting.result(60)
    sys.modules.pop(name)
