"""What a start costs, told by what is loaded and done: no clock is asked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

A_RUN = """
import sys
import muniment

with muniment.open({place!r}, create=True, plugins=()) as ledger:
    ledger.execute(lambda run: run.record("note.added", text="x") and 1)
"""


def told(code: str, place: Path) -> list[str]:
    """Return the lines that a fresh interpreter prints for *code*."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=place,
    )
    return done.stdout.splitlines()


def test_a_run_starts_no_process(tmp_path: Path) -> None:
    """A run begins, is written and ends without another program being started."""
    seen = (
        "import sys\n"
        "starts = ('os.exec', 'os.fork', 'os.posix_spawn', 'subprocess.Popen')\n"
        "sys.addaudithook(lambda name, _: name in starts and print(name))\n"
    )

    assert told(seen + A_RUN.format(place=str(tmp_path / "l.db")), tmp_path) == []
