"""A command that did not come to its end never exits with 0, and is never silent.

A program can end its process past everything that Python offers to clean up
(`os._exit`), or replace it (`os.exec…`). The command line says so; forked children end
as they like.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import muniment
from recording import MUNIMENT, PYTHON, Desk

HEAD = "import os, threading\n"
LEAVING = {
    "program": "def main(run):\n    run.effect('tool', 'a', lambda _: 1)\n    os._exit({})",
    "posix": "import posix\ndef main(run):\n    posix._exit({})",
    "effect": "def main(run):\n    run.effect('tool', 'a', lambda _: os._exit({}))",
    "lane": "def main(run):\n    with run.scope('a'):\n        os._exit({})",
    "task": "async def main(run):\n    os._exit({})",
}
FORKS = """
import multiprocessing, os
def main(run):
    for end in (lambda: os._exit(0), lambda: os.execv("/bin/true", ["true"])):
        pid = os.fork()
        if not pid:
            end()
        assert os.waitpid(pid, 0)[1] == 0
    child = multiprocessing.get_context("fork").Process(target=abs, args=(1,))
    child.start()
    child.join()
    return child.exitcode
"""
UNDER_WAY = """
import os, socket, threading, urllib.request
asked = threading.Event()
server = socket.create_server(("127.0.0.1", 0))
def serve():
    stream, _ = server.accept()
    stream.recv(1)
    asked.set()
    threading.Event().wait()
url = f"http://127.0.0.1:{server.getsockname()[1]}/"
threading.Thread(target=serve, daemon=True).start()
threading.Thread(target=urllib.request.urlopen, args=(url,), daemon=True).start()
asked.wait()
os._exit(0)
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder with a ledger."""
    with muniment.Ledger.create(tmp_path / ".muniment" / "ledger.db"):
        pass
    return tmp_path


def ran(place: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a program by the installed command line."""
    (place / "agent.py").write_text(HEAD + text)
    line = [MUNIMENT, "run", "agent.py", *options]
    return subprocess.run(
        line, cwd=place, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize("name", LEAVING)
def test_a_program_that_leaves_its_run_is_told(place: Path, name: str) -> None:
    """It exits with 1, names the run, and how to go on; what was done is recorded."""
    done = ran(place, LEAVING[name].format(0))
    (run,) = runs(place)
    said = f"error: run {run}: os._exit(0) ended the process of the run"
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert done.stderr.startswith(said)
    assert f"`muniment runs explain {run}`" in done.stderr


def runs(place: Path) -> list[str | None]:
    """Return the ids of the runs that were started."""
    with muniment.open(place / ".muniment" / "ledger.db", readonly=True) as ledger:
        return [one.run for one in ledger.events(type="run.started")]


@pytest.mark.parametrize(("status", "code"), [(0, 1), (256, 1), (7, 7)])
def test_the_code_is_never_0(place: Path, status: int, code: int) -> None:
    """What the system would make 0 is 1; another code is the program's. JSON says it."""
    done = ran(place, LEAVING["program"].format(status), "--json")
    assert done.returncode == code
    told = json.loads(done.stderr)["error"]
    assert (told["rule"], told["exit_code"]) == ("cli/left", code)
    assert done.stdout == ""


@pytest.mark.parametrize("where", ["import", "thread"])
def test_what_ends_a_command_outside_a_run_is_told(place: Path, where: str) -> None:
    """There it could not be done: 3."""
    text = {
        "import": "os._exit(0)\n",
        "thread": "def main(run):\n"
        "    thread = threading.Thread(target=os._exit, args=(0,))\n"
        "    thread.start()\n"
        "    thread.join()\n",
    }
    done = ran(place, text[where])
    assert done.returncode == 3
    said = "error: os._exit(0) ended the process before the command was done [cli/left]"
    assert done.stderr.startswith(said)


def test_a_resumed_program_that_leaves_is_told(place: Path) -> None:
    """A resume goes on as a run does, and ends as one."""
    ran(place, LEAVING["program"].format(0))
    (run,) = runs(place)
    line = [MUNIMENT, "resume", str(run), "--program", "agent.py"]
    done = subprocess.run(
        line, cwd=place, capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, f"run {run}: os._exit(0)" in done.stderr) == (1, True)


@pytest.mark.parametrize("name", ["execv", "execlp", "execvpe"])
def test_a_run_is_not_replaced_by_a_program(place: Path, name: str) -> None:
    """It fails, with the remedy, instead of being left without an end."""
    given = {"execv": "['true']", "execlp": "'true'", "execvpe": "['true'], {}"}
    text = f"def main(run):\n    os.{name}('/bin/true', {given[name]})\n"
    done = ran(place, text, "--json")
    assert done.returncode == 4
    assert "with `subprocess`" in json.loads(done.stdout)["error"]


def test_children_end_as_they_like(place: Path) -> None:
    """What a program forks may leave, or become another program."""
    done = ran(place, FORKS)
    assert (done.returncode, "error" in done.stderr) == (0, False), done.stderr


def test_a_call_without_an_answer_is_counted(desk: Desk) -> None:
    """A recorded program is completed by its exit code; what it left is told."""
    desk.write("agent.py", UNDER_WAY)
    done = desk.record(PYTHON, "agent.py")
    assert done.code == 0
    assert done.err.endswith(f"run {done.run}: completed, 1 http, 1 failed\n")
    (failed,) = desk.data(done.run, "http.failed")
    assert failed["reason"] == "cancelled"
