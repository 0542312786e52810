"""A umask that takes from muniment the files that it makes is refused, before anything."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from muniment_cli.shell.new_places import require_own_files

INSTALLED = Path(sys.executable).with_name("muniment")
PROGRAM = "def main(run):\n    return run.effect('tool', 1, str)\n"
_DROP, _OVERRIDES = 24, (1, 2)
"""``PR_CAPBSET_DROP``, and the capabilities that let root pass by all modes of files."""


def _without_overrides() -> None:
    """Let the child be held to the modes of files, also if root runs the tests."""
    for one in _OVERRIDES:
        ctypes.CDLL(None).prctl(_DROP, one, 0, 0, 0)


def run(work: Path, umask: int, *line: str) -> Any:
    """Run the installed command under *umask*."""
    return subprocess.run(
        [str(INSTALLED), *line],
        cwd=work,
        umask=umask,
        preexec_fn=_without_overrides,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(sys.platform != "linux", reason="drops capabilities of Linux")
@pytest.mark.parametrize(
    "line",
    [
        ("record", "--", sys.executable, "-c", "1"),
        ("run", "asks.py"),
        ("report", "last", "-o", "page.html"),
        ("report", "last", "-o", "page.html", "--evidence"),
        ("export", "last", "--format", "csv", "-o", "out.csv"),
        ("bundle", "last", "-o", "evidence", "--raw"),
        ("bundle", "last", "-o", "evidence.zip"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("umask", [0o777, 0o400])
def test_it_is_refused_in_one_line(
    shell: Any, work: Path, line: tuple[str, ...], umask: int
) -> None:
    """Exit code 2, with what to do; nothing is recorded, and nothing is left."""
    sys.modules.pop("asks", None)  # that of another test
    (work / "asks.py").write_text(PROGRAM)
    assert shell("init").code == 0
    assert shell("run", "asks.py").code == 0
    events, before = shell("events", "--json").out, sorted(work.iterdir())
    refused = run(work, umask, *line)
    assert (refused.returncode, refused.stdout) == (2, "")
    (told,) = refused.stderr.strip().splitlines()
    assert told.startswith(f"error: umask: with the umask {umask:04o}, muniment cannot")
    assert "run `umask 077` first" in told
    assert shell("events", "--json").out == events
    assert sorted(work.iterdir()) == before


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_an_ordinary_umask_is_left_as_it_is(umask: int) -> None:
    """It is read, which takes setting it, and set again."""
    before = os.umask(umask)
    try:
        require_own_files()
        assert os.umask(umask) == umask
    finally:
        os.umask(before)
