"""The examples of the repository, run as plain scripts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

__all__ = ["EXAMPLES", "run"]

EXAMPLES = Path(__file__).parents[3] / "examples"


def run(name: str, work: Path) -> str:
    """Run the example *name* in *work* and return what it prints."""
    work.mkdir(exist_ok=True)
    ran = subprocess.run(
        [sys.executable, EXAMPLES / name],
        cwd=work,
        capture_output=True,
        text=True,
        check=True,
    )
    assert not ran.stderr
    return ran.stdout
