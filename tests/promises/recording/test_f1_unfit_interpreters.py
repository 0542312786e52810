"""A Python in which the recorder does not work is named, and works as it does alone.

Interpreters that lack what the recorder stands on are made here, by a line that Python
runs before anything of the recorder; older Pythons are tried where this machine has them.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent

import pytest

from recording import PYTHON, Desk, Ended

LACKS = {
    "an older one": "sys.version_info = (3, 7, 16, 'final', 0)",
    "no audit hooks": "del sys.addaudithook",
    "no sockets": "sys.modules['_socket'] = None",
    "no loader": "import importlib.machinery as it; del it.SourceFileLoader",
}
"""What an interpreter lacks → how this one comes to lack it."""

OLDER = ("2.7", "3.6", "3.7", "3.8")
RECORDED = ("3.9", "3.10")

PROGRAMS = {
    "nothing": "print('done')",
    "a connection": """
        import os
        try:
            from http.client import HTTPConnection
        except ImportError:
            from httplib import HTTPConnection
        try:
            asked = HTTPConnection(os.environ["BASE"].split("/")[2])
            asked.request("GET", "/echo")
            print(asked.getresponse().status)
        except ImportError:
            print("no sockets")
    """,
    "a library": """
        import os
        try:
            from urllib.request import urlopen
        except ImportError:
            from urllib2 import urlopen
        print(urlopen(os.environ["BASE"] + "/echo").read() != b"")
    """,
    "a child": """
        import os
        print(os.system("true"))
    """,
}

TRIED = [
    (lack, name)
    for lack in LACKS
    for name in PROGRAMS
    if (lack, name) != ("no sockets", "a library")  # which there is not
]


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an interpreter of its own, whose start can be changed."""
    place = tmp_path_factory.mktemp("interpreter") / "own"
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(place)], check=True)
    return place / "bin" / "python"


def starts_with(interpreter: Path, line: str) -> str:
    """Let *interpreter* run *line* before all else; return its path."""
    (packages,) = (interpreter.parents[1] / "lib").glob("python*/site-packages")
    (packages / "first.pth").write_text(f"import sys; {line}\n")
    return str(interpreter)


def older(version: str) -> str:
    """Return the interpreter of a *version* that is on this machine."""
    name = f"python{version}"
    built = Path.home().glob(f".pyenv/versions/{version}.*/bin/{name}")
    for found in (shutil.which(name), *map(str, built)):
        if found and _is_version(found, version):
            return found
    pytest.skip(f"{name} is not on this machine")


def _is_version(path: str, version: str) -> bool:
    said = subprocess.run(
        [path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
        capture_output=True,
        text=True,
        check=False,
    )
    return said.stdout.strip() == version


def alone(desk: Desk, *command: str) -> Ended:
    """Run *command* without a recorder."""
    done = subprocess.run(
        command,
        cwd=desk.place,
        env=desk.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def programs(desk: Desk, run: str) -> list[list[str]]:
    """Return the command lines that went past the record."""
    (fact,) = desk.data(run, "recording.bypassed")
    found: list[list[str]] = fact["programs"]
    return found


STARTS = ("itself", "another")


def is_named(
    desk: Desk, python: str, name: str, starts: Sequence[str] = STARTS
) -> None:
    """Record a program of *python* and one that starts it: it works, and is named."""
    desk.write("old.py", dedent(PROGRAMS[name]))
    desk.write(
        "agent.py",
        "import subprocess, sys\n"
        f"sys.exit(subprocess.run([{python!r}, 'old.py']).returncode)\n",
    )
    itself = alone(desk, python, "old.py")
    commands = {"itself": [python, "old.py"], "another": [PYTHON, "agent.py"]}
    for command in (commands[one] for one in starts):
        done = desk.record(*command)
        assert (done.code, done.out) == (itself.code, itself.out), done.err
        assert "warning: not recorded: the program " in done.err
        told = [line for line in done.err.splitlines() if "run 01" not in line]
        told = [line for line in told if not line.startswith("warning: not recorded")]
        assert told == itself.err.splitlines()
        assert [python, "old.py"] in programs(desk, done.run)
        again = desk.replay(done.run, *command)
        assert (again.code, "replay/unrecorded" in again.err) == (3, True)
    assert desk.holds


@pytest.mark.slow
@pytest.mark.parametrize(("lack", "name"), TRIED)
def test_an_interpreter_in_which_nothing_records_is_named(
    desk: Desk, interpreter: Path, lack: str, name: str
) -> None:
    """It is named with what it does, whoever starts it, and does what it does alone."""
    is_named(desk, starts_with(interpreter, LACKS[lack]), name)


OLD = [
    (version, name, STARTS[(i + j) % 2])
    for i, version in enumerate(OLDER)
    for j, name in enumerate(PROGRAMS)
]
"""Each program of each version; each version, and each program, is started both ways."""


@pytest.mark.slow
@pytest.mark.parametrize(("version", "name", "start"), OLD)
def test_an_older_python_is_named(
    desk: Desk, version: str, name: str, start: str
) -> None:
    """Down to those that cannot even read today's syntax."""
    is_named(desk, older(version), name, [start])


@pytest.mark.parametrize("version", RECORDED)
def test_a_python_that_is_old_enough_is_recorded(desk: Desk, version: str) -> None:
    """Those of muniment itself are not needed."""
    desk.write("agent.py", dedent(PROGRAMS["a library"]))
    python = older(version)
    done = desk.record(python, "agent.py")
    assert (done.code, done.out) == (0, "True\n"), done.err
    assert "warning" not in done.err
    assert desk.facts(done.run).effects == {"http": 1}
    desk.server_stops()
    again = desk.replay(done.run, python, "agent.py")
    assert (again.code, again.err) == (0, "True\n"), again.out


def test_an_own_start_is_run_where_nothing_records(
    desk: Desk, interpreter: Path
) -> None:
    """A program's own ``sitecustomize`` runs as it does alone, and only once."""
    folder = desk.place / "own"
    folder.mkdir()
    text = "import sys\nsys.own = getattr(sys, 'own', 0) + 1\n"
    (folder / "sitecustomize.py").write_text(text)
    desk.variables["PYTHONPATH"] = str(folder)
    desk.write("agent.py", "import sys\nprint(sys.own, sys.path[1])")
    for lack in ("an older one", "no audit hooks"):
        python = starts_with(interpreter, LACKS[lack])
        done = desk.record(python, "agent.py")
        assert (done.code, done.out) == (0, f"1 {folder}\n"), done.err


@pytest.mark.parametrize("library", ["aiohttp", "httpx", "httpx2", "urllib3"])
def test_a_library_that_is_not_the_known_one_is_left_alone(
    desk: Desk, library: str
) -> None:
    """A module that only has its name, or is much older, does what it does alone."""
    text = """
        import os, socket
        from urllib.parse import urlsplit
        def ask():
            place = urlsplit(os.environ["BASE"])
            socket.create_connection((place.hostname, place.port)).close()
    """
    (desk.place / library).mkdir()
    desk.write(f"{library}/__init__.py", dedent(text))
    desk.write(f"{library}/connectionpool.py", "")
    desk.write(
        "agent.py",
        f"import {library}.connectionpool\n{library}.ask()\nprint('asked')\n",
    )
    done = desk.record(PYTHON, "agent.py")
    assert (done.code, done.out) == (0, "asked\n"), done.err
    place = desk.server.url.removeprefix("http://")
    assert f"warning: not recorded: the program connected to {place}\n" in done.err
    again = desk.replay(done.run, PYTHON, "agent.py")
    assert "replay has no network" in again.err
