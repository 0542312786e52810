"""The processes of this machine, and waiting until something is true of them.

    assert soon(lambda: not is_running(pid))

Rules: a condition comes true at once on an idle machine and late on a busy one; only a
fault reaches the limit. A process may end while it is looked at.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

__all__ = [
    "children_of",
    "is_running",
    "is_worker",
    "soon",
    "state_of",
    "waiting_signals",
]


def soon(condition: Callable[[], object], seconds: float = 60) -> bool:
    """Wait until *condition* holds; tell whether it did in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def children_of(pid: int) -> list[int]:
    """Return the processes whose parent is *pid*."""
    found: list[int] = []
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, listed.read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            continue  # that thread has ended
    return found


def is_running(pid: int) -> bool:
    """Tell whether there is such a process, and not only its remains."""
    return state_of(pid) not in "XZ"


def state_of(pid: int) -> str:
    """Return the letter of its state, X where there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return "X"
    return text.rpartition(")")[2].split()[0]


def waiting_signals(pid: int) -> int:
    """Return the signals that *pid* was sent and has not taken yet, as bits."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(text.partition("ShdPnd:")[2].split()[0], 16)


def is_worker(pid: int) -> bool:
    """Tell whether *pid* is a worker that forks, or a child that it forked."""
    try:
        return b"\0warm\0" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
