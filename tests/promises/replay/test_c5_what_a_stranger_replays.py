"""A stranger's program reads its own package, gets no terminal, and leaves nothing."""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from first_hour import begin
from muniment.formats.statement import Event
from muniment_cli.replay.recall import folders_of
from muniment_cli.replay.scratch import remove, scratch_directory
from muniment_plugins.capsule.machine import machine

MUNIMENT = str(Path(sys.executable).with_name("muniment"))
PROGRAM = """
import os, sys


def main(run):
    exec(os.environ.get("REPLAYED", ""), globals())
    return 1
"""


def shell(work: Path, *line: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a command of muniment in a process of its own."""
    done = subprocess.run(
        [MUNIMENT, *line], cwd=work, capture_output=True, text=True, check=False, **more
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def recorded(work: Path, text: str = PROGRAM) -> str:
    """Record the program *text* in *work*, and return the run."""
    (work / "program.py").write_text(text)
    begin(work)
    ran = shell(work, "run", "program.py", "--json")
    assert ran.returncode == 0, ran.stderr
    return str(json.loads(ran.stdout)["run"])


def replayed(work: Path, run: str, code: str = "", **more: Any) -> Any:
    """Replay *run*, in which the program does what *code* says."""
    environment = {**os.environ, "REPLAYED": code}
    line = ("replay", run, "--json", "--env", "REPLAYED")
    return shell(work, *line, env=environment, **more)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Make a folder, and something beside it that is nobody's business."""
    (tmp_path / "secret.py").write_text("secret = 1")
    (tmp_path / "secret.txt").write_text("secret")
    place = tmp_path / "work"
    place.mkdir()
    return place


@pytest.fixture
def held() -> None:
    """Skip where the layers are not to be had."""
    if machine().level != "os-strong":
        pytest.skip("this machine lacks layers")


# -- what it may read -------------------------------------------------------------------

FILES = ("/etc/passwd.py", "../secret.py", "../work/../secret.py", "{beside}/secret.py")


@pytest.mark.parametrize("module", ["program", "work.program", "__main__", "os", ""])
@pytest.mark.parametrize("package", [False, True])
def test_a_ledger_opens_no_folder(
    work: Path, monkeypatch: pytest.MonkeyPatch, module: str, package: bool
) -> None:
    """Whatever file it says that the program is, nothing beside the folder is readable."""
    monkeypatch.chdir(work)
    (work / "program.py").write_text(PROGRAM)
    if package:
        (work / "__init__.py").touch()
    spelled = [one.format(beside=work.parent) for one in FILES]
    for file in (*spelled, "program.py", "work/program.py", None, 7):
        program = {"file": file, "import": f"{module}:main"}
        started = cast("Event", SimpleNamespace(raw={"program": program}))
        given = [Path(one) for one in folders_of(None, started)]
        assert work in given
        assert all(one.is_relative_to(work) for one in given), (file, given)


def test_what_lies_beside_a_package_is_not_read(work: Path, held: None) -> None:
    """A folder that calls itself a package does not open the one that it lies in."""
    del held
    (work / "__init__.py").touch()
    run = recorded(work)
    done = replayed(work, run, "open('../secret.txt').read()")
    assert done.returncode == 3, done.stdout
    assert "replay/denied" in done.stderr


def test_a_program_in_a_package_is_replayed_from_within(work: Path) -> None:
    """Its package and relative imports are its own, wherever one stands."""
    (work / "__init__.py").write_text("K = 1")
    (work / "other.py").write_text("from . import K\n")
    run = recorded(work, f"from .other import K\n{PROGRAM}")
    done = replayed(work, run)
    assert done.returncode == 0, done.stderr


def led(work: Path, name: str, text: str) -> Path:
    """Put a link *name* into *work*, to a file of another name elsewhere."""
    there = work.parent / "library" / f"real_{name}"
    there.parent.mkdir(exist_ok=True)
    there.write_text(text)
    (work / name).unlink(missing_ok=True)
    (work / name).symlink_to(there)
    return there


@pytest.mark.parametrize("named", [(), ("--program", "program.py:main")])
def test_a_program_that_is_a_link(work: Path, named: tuple[str, ...]) -> None:
    """What `run` takes through a link, a replay takes, too: found by itself or named."""
    run = recorded(work)
    led(work, "program.py", PROGRAM)
    assert shell(work, "replay", run, *named).returncode == 0

    again = shell(work, "run", "program.py", "--json")
    assert again.returncode == 0, again.stderr
    run = str(json.loads(again.stdout)["run"])
    done = shell(work, "replay", run, *named)
    assert done.returncode == 0, done.stderr


def test_a_link_opens_what_was_recorded_alone(
    work: Path, held: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link that leads to something else than what ran gives nothing of it away."""
    del held
    run = recorded(work)
    (work / "program.py").unlink()
    (work / "program.py").symlink_to(work.parent / "secret.py")
    described = {"file": "program.py", "import": "program:main", "files": {}}
    started = cast("Event", SimpleNamespace(raw={"program": described}))
    monkeypatch.chdir(work)
    assert folders_of(None, started) == [str(work)]
    assert shell(work, "replay", run).returncode in (3, 4)


def test_a_module_that_is_a_link_is_named(work: Path, held: None) -> None:
    """What the program imports through a link elsewhere is exit 3, with what helps."""
    del held
    there = led(work, "helping.py", "X = 1\n")
    run = recorded(work, f"from helping import X\n{PROGRAM}")
    shutil.rmtree(work / "__pycache__", ignore_errors=True)  # it could be read instead
    for named in ([], ["--program", "program.py:main"]):
        done = shell(work, "replay", run, *named)
        assert done.returncode == 3
        assert "[replay/denied]" in done.stderr
        assert f"--readable {there}" in done.stderr
        done = shell(work, "replay", run, *named, "--readable", str(there))
        assert done.returncode == 0, done.stderr


def test_any_number_of_entries(work: Path, held: None) -> None:
    """The layers stand around a folder of more entries than files may be open."""
    del held
    run = recorded(work)
    for number in range(600):
        (work / f"{number}.txt").touch()

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

    done = replayed(work, run, "open('599.txt').read()", preexec_fn=few)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["isolation"]["level"] == "os-strong"


# -- the directory of its own -----------------------------------------------------------


def _deep(place: str) -> None:
    home = Path.cwd()
    os.chdir(place)
    for _ in range(2500):
        os.mkdir("d")  # noqa: PTH102 - relative, deeper than a path may be long
        os.chdir("d")
    Path("file").touch()
    os.chdir(home)


def _closed(place: str) -> None:
    (Path(place) / "a" / "b").mkdir(parents=True)
    (Path(place) / "a" / "b" / "file").touch()
    (Path(place) / "a" / "b").chmod(0)
    (Path(place) / "a").chmod(0)


def _links(place: str) -> None:
    outside = Path(place).with_name("outside")
    for folder in (Path(place), Path(place) / "inner"):
        folder.mkdir(exist_ok=True)
        (folder / "folder").symlink_to(outside)
        (folder / "file").symlink_to(outside / "kept")
        (folder / "loop").symlink_to("loop")
        (folder / "moved-1").mkdir()


@pytest.mark.parametrize("fill", [_deep, _closed, _links])
def test_the_scratch_directory_is_gone(tmp_path: Path, fill: Any) -> None:
    """Whatever a program left in it, and nothing else is touched."""
    outside, place = tmp_path / "outside", tmp_path / "place"
    outside.mkdir(mode=0o750)
    (outside / "kept").touch()
    mode = outside.stat().st_mode
    place.mkdir()
    fill(str(place))
    remove(str(place))
    assert sorted(tmp_path.iterdir()) == [outside]
    assert (outside / "kept").exists()
    assert outside.stat().st_mode == mode


def test_a_deep_directory_changes_no_verdict(work: Path) -> None:
    """Nor does it show: the verdict is that of the program."""
    run = recorded(work)
    code = (
        "home = os.open('.', os.O_RDONLY)\nos.chdir(os.environ['TMPDIR'])\n"
        "for _ in range(1500):\n    os.mkdir('d')\n    os.chdir('d')\nos.chdir(home)"
    )
    environment = work.parent / "temporary"
    environment.mkdir()
    done = subprocess.run(
        [MUNIMENT, "replay", run],
        cwd=work,
        env={**os.environ, "REPLAYED": code, "TMPDIR": str(environment)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "cli/bug" not in done.stderr
    assert "verdict" in done.stdout + done.stderr or done.returncode == 3
    assert list(environment.iterdir()) == []


def test_a_scratch_directory_is_its_owners_alone() -> None:
    """It is made for one user, and gone at the end."""
    with scratch_directory() as place:
        assert os.stat(place).st_mode & 0o777 == 0o700  # noqa: PTH116 - a mode
    assert not Path(place).exists()


# -- the terminal -----------------------------------------------------------------------

TERMINAL = """
for one in (0, 1, 2):
    if os.isatty(one):
        raise ValueError(one)
if sys.stdin.read():
    raise ValueError("it was typed")
print("\\x1b[2Jverdict acceptable\\x9b2J\\x07")
sys.stderr.write("\\x1b]52;c;ZXZpbA==\\x07\\tshown\\n")
"""


def test_a_program_gets_no_terminal(work: Path) -> None:
    """It cannot read what is typed, nor write over the verdict; it is shown all the same."""
    run = recorded(work)
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(work)
        os.execve(  # noqa: S606 - ours
            MUNIMENT,
            [MUNIMENT, "--no-color", "replay", run, "--env", "REPLAYED"],
            {**os.environ, "REPLAYED": TERMINAL},
        )
    os.write(terminal, b"typed\n")
    shown = b""
    while True:
        try:
            more = os.read(terminal, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not more:
            break
        shown += more
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, shown
    shown = re.sub(rb"\x1b\[[0-9;]*m", b"", shown)  # styles of ours
    assert b"\x1b" not in shown
    assert b"\x07" not in shown
    assert rb"\x1b[2Jverdict acceptable" in shown
    assert b"shown" in shown


def test_an_error_without_a_text_is_no_traceback(work: Path) -> None:
    """Not even where its text raises what is not an `Exception`."""
    run = recorded(work)
    code = (
        "class E(BaseException):\n    def __str__(self):\n        raise E\n"
        "    __repr__ = __str__\nraise E"
    )
    done = replayed(work, run, code)
    assert done.returncode == 1, done.stderr
    assert "it has no text" in done.stdout


def test_a_refusal_is_one_line(work: Path) -> None:
    """What is held less than was required is refused by the parent alone."""
    begin(work)
    line = (sys.executable, "-c", "print(1)")
    assert shell(work, "record", "--", *line).returncode == 0
    run = json.loads(shell(work, "runs", "list", "--json").stdout)[0]["id"]
    floor = ("--require-isolation", "os-strong")
    done = shell(work, "replay", *floor, run, "--", *line)
    assert done.returncode == 4
    assert done.stderr.count("\n") == 1, done.stderr
