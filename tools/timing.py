"""What the benches share: a clock, and the yardstick that is taken in turn.

    wall(action)         what one call takes on the clock
    bare_start()         an interpreter that does nothing, for `wall`

Rules: a ratio is of medians that were taken in alternation with the yardstick.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

__all__ = ["bare_start", "wall"]


def wall(action: Callable[[], object]) -> float:
    """Return the seconds on the clock of *action*."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def bare_start() -> None:
    """Start an interpreter without a site, and wait until it has ended."""
    command = [sys.executable, "-I", "-S", "-c", "pass"]
    subprocess.run(command, check=True)  # noqa: S603 - our own interpreter
