"""A ledger that was merely found runs no code: whatever stands beside it, nothing runs.

A stranger's ledger and its files are copied to a new machine; each file, if it were
imported, would leave a mark. Every command is typed there by somebody else.
"""

from __future__ import annotations

import importlib.util
import json
import marshal
import shutil
from pathlib import Path
from types import CodeType

import pytest

from first_hour import Newcomer, Said
from machines import strong

PROGRAM = "def main(run, n=1):\n    return run.effect('tool', {'n': n}, lambda _: n)\n"
FAILING = "def main(run):\n    return run.effect('tool', {'n': 1}, lambda _: 1 // 0)\n"
MARKS = """
import pathlib
pathlib.Path({mark!r}).write_text("ran")
"""
HIDDEN_IN = {
    "beside the ledger": "jobs.py",
    "in .muniment": ".muniment/jobs.py",
    "in the parent folder": "../jobs.py",
    "sitecustomize": "sitecustomize.py",
    "usercustomize": "usercustomize.py",
    "conftest": "conftest.py",
    "a .pth": "jobs.pth",
    "the name of a dependency": "click.py",
    "the name of an extra": "numpy.py",
    "the name of a plugin": "muniment_plugins.py",
    "bytecode": "failing.pyc",
    "a package": "failing/__init__.py",
}
COMMANDS = (
    *("replay RUN", "replay RUN --no-record --json", "resume RUN", "resume FAILED"),
    *("runs", "runs explain RUN", "runs show RUN", "runs stats", "status", "events"),
    *("events show 1", "verify", "verify --fast", "doctor", "plugins", "keys list"),
    *("query SELECT+1", "prove 0", "rebuild", "demo tour"),
)


@pytest.fixture
def found(newcomer: Newcomer, tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """Give the folder of a stranger's ledger, and the ids of two of its runs."""
    stranger = Newcomer(tmp_path / "theirs", tmp_path / "stranger")
    stranger.folder.mkdir()
    (stranger.folder / "jobs.py").write_text(PROGRAM)
    (stranger.folder / "failing.py").write_text(FAILING)
    stranger.begin()
    ids = {}
    for name, file in (("RUN", "jobs.py"), ("FAILED", "failing.py")):
        ids[name] = json.loads(stranger.muniment("run", file, "--json").out)["run"]
    place = newcomer.folder / "found"
    shutil.copytree(stranger.folder / ".muniment", place / ".muniment")
    return place, ids


def plant(place: Path, name: str, mark: Path) -> None:
    """Put a file there that leaves a mark when it is imported."""
    text = MARKS.format(mark=str(mark))
    if name.endswith(".pth"):
        text = f"import pathlib; pathlib.Path({str(mark)!r}).write_text('ran')\n"
    target = place / name
    target.parent.mkdir(parents=True, exist_ok=True)
    if name.endswith(".pyc"):
        code = compile(text + PROGRAM, "jobs.py", "exec")
        target.write_bytes(bytecode(code))
    else:
        target.write_text(text if name.endswith(".pth") else text + PROGRAM)


def bytecode(code: CodeType, mtime: int = 0, size: int = 0) -> bytes:
    """Return *code* as a file of bytecode for a source of that time and size."""
    head = b"".join(number.to_bytes(4, "little") for number in (0, mtime, size))
    return importlib.util.MAGIC_NUMBER + head + marshal.dumps(code)


def typed(newcomer: Newcomer, place: Path, command: str, ids: dict[str, str]) -> Said:
    """Type *command* in *place*."""
    words = [ids.get(one, one).replace("+", " ") for one in command.split()]
    return newcomer.muniment(*words, cwd=place)


@pytest.mark.slow
def test_nothing_of_a_found_folder_runs(
    newcomer: Newcomer, found: tuple[Path, dict[str, str]]
) -> None:
    """In the folder, by every command: no mark, and one line where it is refused."""
    place, ids = found
    for what, file in HIDDEN_IN.items():
        plant(place, file, newcomer.folder / f"mark {what}")
    for command in COMMANDS:
        said = typed(newcomer, place, command, ids)

        assert not list(newcomer.folder.glob("mark*")), f"{command}: {said}"
        if command.startswith(("replay", "resume")):
            assert said.code == 4, said
            assert said.err.count("\n") == 1


@pytest.mark.parametrize("how", ["beside", "changed", "by path", "path entry"])
@pytest.mark.parametrize("command", ["replay RUN", "resume FAILED"])
def test_refusals_are_one_line(
    newcomer: Newcomer, found: tuple[Path, dict[str, str]], how: str, command: str
) -> None:
    """Beside the ledger, changed, or elsewhere on the path: exit code 4, and why."""
    place, ids = found
    mark = newcomer.folder / "mark"
    for name in ("jobs.py", "failing.py"):
        plant(place, name, mark)
    desk = newcomer
    if how == "path entry":
        entry = newcomer.folder / "entry"
        place_of = {one: entry / one for one in ("jobs.py", "failing.py")}
        for name, target in place_of.items():
            entry.mkdir(exist_ok=True)
            (place / name).rename(target)
        desk = Newcomer(newcomer.folder, newcomer.home, {"PYTHONPATH": str(entry)})
    ledger = place / ".muniment" / "ledger.db"
    elsewhere = how in ("beside", "by path")
    if elsewhere:
        command = f"--ledger {ledger} {command}"
    said = typed(desk, newcomer.folder if elsewhere else place, command, ids)

    assert (said.code, said.out, mark.exists()) == (4, "", False), said.err
    expected = "ledger/unpinned" if "resume" in command else "program/"
    assert f"[{expected}" in said.err
    assert said.err.count("\n") == 1


def test_a_pin_says_nothing_of_code(
    newcomer: Newcomer, found: tuple[Path, dict[str, str]]
) -> None:
    """With the root pinned, a file that is not the recorded one is not imported."""
    place, ids = found
    mark = newcomer.folder / "mark"
    listed = json.loads(newcomer.muniment("keys", "list", "--json", cwd=place).out)
    keys = listed["keys"] if isinstance(listed, dict) else listed
    root = next(one["keyid"] for one in keys if one.get("name") == "root")
    assert newcomer.muniment("keys", "trust", root, cwd=place).code == 0
    for name in ("jobs.py", "failing.py"):
        plant(place, name, mark)
    for command in ("replay RUN", "resume FAILED --take-over"):
        said = typed(newcomer, place, command, ids)
        assert (said.code, "[program/changed]" in said.err) == (4, True), said.err
        assert not mark.exists()


@pytest.mark.parametrize("above", ["__init__.py", "__pycache__"])
def test_packages_and_bytecode_are_compared_too(newcomer: Newcomer, above: str) -> None:
    """A package above the program is part of it; bytecode beside it is not read."""
    folder, mark = newcomer.folder, newcomer.folder / "mark"
    package = folder / "work"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "jobs.py").write_text(PROGRAM)
    newcomer.begin()
    run = json.loads(newcomer.muniment("run", "work/jobs.py", "--json").out)["run"]
    if above == "__init__.py":
        plant(package, above, mark)
    else:
        plant_bytecode(package / "jobs.py", mark)

    said = newcomer.muniment("replay", run, "--no-record")

    assert not mark.exists()
    assert said.code == (4 if above == "__init__.py" else 0), said.err


def plant_bytecode(file: Path, mark: Path) -> None:
    """Put bytecode beside *file* that leaves a mark, and is as old as the text."""
    code = compile(MARKS.format(mark=str(mark)) + PROGRAM, file.name, "exec")
    stat = file.stat()
    place = Path(importlib.util.cache_from_source(str(file)))
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(bytecode(code, int(stat.st_mtime), stat.st_size))


def test_the_text_of_a_named_file_runs(newcomer: Newcomer) -> None:
    """And not its bytecode: that is older where a text was changed within a second."""
    file, mark = newcomer.folder / "jobs.py", newcomer.folder / "mark"
    file.write_text(PROGRAM)
    plant_bytecode(file, mark)
    control = newcomer.python("-c", "import jobs")
    assert (control.code, mark.exists()) == (0, True), control.err
    mark.unlink()
    newcomer.begin()
    ran = newcomer.muniment("run", "jobs.py", "--json")
    run = json.loads(ran.out)["run"]

    again = newcomer.muniment("replay", run, "--program", "jobs.py:main", "--no-record")

    assert (ran.code, again.code, mark.exists()) == (0, 0, False), again.err


def test_a_named_file_hides_no_module_of_python(newcomer: Newcomer) -> None:
    """A file by such a name is refused, and does not run."""
    mark = newcomer.folder / "mark"
    plant(newcomer.folder, "math.py", mark)
    newcomer.begin()
    said = newcomer.muniment("run", "math.py")
    assert (said.code, "[run/module-name]" in said.err) == (2, True), said.err
    assert not mark.exists()


@strong
def test_missing_layers_want_trust(newcomer: Newcomer) -> None:
    """Where the kernel holds nothing, only a program that is named or trusted runs."""
    (newcomer.folder / "jobs.py").write_text(PROGRAM)
    (newcomer.folder / "bare.py").write_text(BARE)
    newcomer.begin()
    run = json.loads(newcomer.muniment("run", "jobs.py", "--json").out)["run"]
    replay = ("bare.py", "replay", run, "--no-record")

    refused = newcomer.python(*replay)

    assert (refused.code, refused.out) == (4, ""), refused.err
    assert "[replay/untrusted]" in refused.err
    assert newcomer.python(*replay, "--trust-program").code == 0
    assert newcomer.python(*replay, "--program", "jobs.py:main").code == 0
    assert newcomer.muniment("replay", run, "--no-record").code == 0


BARE = """
import os, shutil, sys
from muniment_plugins.capsule.isolation.native import System
from muniment_plugins.capsule.isolation.seccomp import ALLOW, assemble

system = System()
taken = {number: "ENOSYS" for number in (444, 445, 446)}
program = assemble(os.uname().machine, taken, ALLOW)
held, where = system.at_address(program)
system.call("prctl", 38, 1)
where = (len(program) // 8).to_bytes(8, "little") + where.to_bytes(8, "little")
system.call("seccomp", 1, 0, where)
os.execv(shutil.which("muniment"), ["muniment", *sys.argv[1:]])
"""
