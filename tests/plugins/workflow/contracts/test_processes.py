"""Commands end at their time, with all that they started, and are kept in little memory.

Each command is run for real: what it leaves behind would write a file, or be a process.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from muniment.ledger import Ledger
from muniment_plugins.workflow import workflow_execute
from muniment_plugins.workflow.contracts.commands import awaited_check
from muniment_plugins.workflow.contracts.processes import MOST, CommandEnd, Workplace
from muniment_plugins.workflow.contracts.processes import ran as ran_at

# Elsewhere what left its session goes on: docs/how-to/workflows.md says so.
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs a subreaper")
LATE = "sh -c 'sleep 1; touch LATE'"
ESCAPES = {
    "child": f"{LATE} & sleep 30",
    "session": f"setsid {LATE} & sleep 30",
    "orphan": f"(setsid {LATE} &); sleep 30",
    "twice": 'setsid sh -c "setsid sh -c \\"sleep 1; touch LATE\\" & exit" & sleep 30',
    "deaf": f"trap '' TERM INT HUP; {LATE} & while :; do sleep 1; done",
    "itself": "sleep 1; touch LATE; sleep 30",
}
"""How a command leaves something behind that writes the file LATE."""


def ran(
    words: list[str],
    folder: Path,
    seconds: float,
    stop: threading.Event | None = None,
) -> CommandEnd:
    """Run a command in a folder, with the environment of the test."""
    return ran_at(words, Workplace.at(str(folder)), seconds, stop)


def sh(line: str) -> list[str]:
    """Return the words that let a shell run *line*."""
    return ["/bin/sh", "-c", line]


def later(place: Path) -> bool:
    """Tell whether somebody wrote the file, once there was time for it."""
    time.sleep(1.1)
    return (place / "LATE").exists()


@LINUX
@pytest.mark.parametrize("how", sorted(ESCAPES))
def test_at_its_time_all_that_it_started_is_killed(how: str, tmp_path: Path) -> None:
    """A child in a session of its own, and a child of nobody, end like the command."""
    began = time.monotonic()
    ended = ran(sh(ESCAPES[how]), tmp_path, 0.3)
    assert ended.is_late
    assert time.monotonic() - began < 1
    assert not later(tmp_path)


@LINUX
def test_at_its_end_all_that_it_left_behind_is_killed(tmp_path: Path) -> None:
    """A command that ended well is not waited for by what holds its pipes open."""
    began = time.monotonic()
    ended = ran(sh(f"(setsid {LATE} &); echo done; exit 3"), tmp_path, 30)
    assert (ended.status, ended.is_late, ended.out) == (3, False, "done\n")
    assert time.monotonic() - began < 1
    assert not later(tmp_path)


@LINUX
def test_whoever_waits_is_killed_and_the_command_ends(tmp_path: Path) -> None:
    """A process that dies while it waits takes the command with it."""
    code = (
        "from muniment_plugins.workflow.contracts.processes import Workplace, ran\n"
        f"ran(['/bin/sh', '-c', {f'touch BEGUN; setsid {LATE} & sleep 30'!r}],"
        " Workplace.at('.'), 30)\n"
    )
    waiting = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path)
    while not (tmp_path / "BEGUN").exists():
        time.sleep(0.01)
    os.kill(waiting.pid, signal.SIGKILL)
    waiting.wait()
    assert not later(tmp_path)


def test_memory_is_bounded_and_the_end_is_kept(tmp_path: Path) -> None:
    """A command that never stops to write costs a few mebibytes, and ends at its time."""
    tracemalloc.start()
    try:
        ended = ran(sh("yes | head -c 200000000; printf end"), tmp_path, 30)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    first, _, kept = ended.out.partition("\n")
    assert first == f"[{200_000_003 - MOST} bytes were cut]"
    assert len(kept) == MOST
    assert kept.endswith("end")
    assert peak < 8 * MOST


@pytest.mark.parametrize(
    ("line", "status"), [("true", 0), ("exit 7", 7), ("kill -TERM $$", -15)]
)
def test_the_status_is_that_of_the_command(
    line: str, status: int, tmp_path: Path
) -> None:
    """The keeper states what it was told, a signal as a negative number."""
    assert ran(sh(line), tmp_path, 30).status == status


def test_signals_that_python_ignores_are_as_usual(tmp_path: Path) -> None:
    """A writer whose reader has gone ends, as it does in a shell."""
    began = time.monotonic()
    assert ran(sh("yes | head -n 1"), tmp_path, 30).out == "y\n"
    assert time.monotonic() - began < 5


def test_a_program_that_is_not_there_says_so(tmp_path: Path) -> None:
    """What cannot be started raises what Python raises for it."""
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        ran(["no-such-program"], tmp_path, 5)


def test_the_keeper_leaves_no_descriptor_to_the_command(tmp_path: Path) -> None:
    """A command has its three streams, and cannot speak for its keeper."""
    ended = ran(sh("ls /proc/self/fd | wc -l"), tmp_path, 30)
    if sys.platform == "linux":
        assert ended.out.strip() == "4"  # with the folder that `ls` reads


@LINUX
def test_a_stop_kills_at_once(tmp_path: Path) -> None:
    """What is stopped from another thread ends long before its time."""
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    began = time.monotonic()
    ran(sh(f"{LATE} & sleep 30"), tmp_path, 30, stop)
    assert time.monotonic() - began < 1
    assert not later(tmp_path)


@LINUX
def test_a_task_that_is_cancelled_kills_its_command(tmp_path: Path) -> None:
    """A branch that lost its race leaves no command behind."""

    async def cancelled() -> None:
        said: dict[str, Any] = {"command": f"setsid {LATE} & sleep 30", "timeout_s": 30}
        job = asyncio.ensure_future(awaited_check(said, Workplace.at(str(tmp_path))))
        await asyncio.sleep(0.3)
        job.cancel()
        await asyncio.wait([job])

    asyncio.run(cancelled())
    assert not later(tmp_path)


async def _async(_: Any) -> str:
    return "done"


@LINUX
@pytest.mark.parametrize("is_async", [False, True])
def test_the_time_of_a_node_kills_the_command(
    is_async: bool, book: Ledger, place: Path
) -> None:
    """At `timeout_s` of the node the attempt failed, and nothing of it goes on."""
    verify = {
        "kind": "verify",
        "timeout_s": 0.3,
        "retry_policy": {"max_attempts": 2},
        "verify": {"command": f"echo x >> STARTED; setsid {LATE} & sleep 30"},
    }
    nodes: dict[str, Any] = {"check": verify}
    edges: list[Any] = []
    if is_async:
        nodes["act"] = {"handler": _async}
        edges = [{"from": "check", "to": "act"}]
    began = time.monotonic()
    done = workflow_execute(
        book, "t", {"entry": "check", "nodes": nodes, "edges": edges}
    )
    assert done.status == "failed"
    assert time.monotonic() - began < 3
    (said,) = book.events(run=done.run_id, type="node.completed")
    assert (said.data["branch"], said.data["attempts"]) == ("error", 2)
    assert "longer than 0.3 s" in str(said.data["error"])
    assert (place / "STARTED").read_text() == "x\nx\n"
    assert not later(place)


def test_the_time_of_a_check_is_a_failed_check(book: Ledger) -> None:
    """At `verify.timeout_s` the check has failed, and its edge is taken."""
    verify = {"kind": "verify", "verify": {"command": "sleep 30", "timeout_s": 0.2}}
    done = workflow_execute(book, "t", {"nodes": {"act": verify}})
    (said,) = book.events(run=done.run_id, type="node.completed")
    assert said.data["branch"] == "failed"
