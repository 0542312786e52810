"""A worker process ends with the process that owns the run, whatever it is doing.

Rules: also if that is killed without a last word, by the pipe alone as well as by the system
alone, which does not need the worker to come to a line of Python.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import BinaryIO, cast

import pytest

from children import Report, start
from muniment.ledger import Ledger
from muniment_plugins.executors import Processes, worker
from muniment_plugins.workflow import workflow_execute
from processes import soon
from workflow_stages import chain

PLUGINS = ("workflow", "executors")


def is_gone(pid: int) -> bool:
    """Tell whether no such process is at work any more."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    if sys.platform != "linux":
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.parametrize("name", ["sleeps_long", "sleeps_long_later", "holds_python"])
def test_workers_die_with_their_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """After kill -9 the worker does no further step beside the resumed run."""
    if name == "holds_python" and sys.platform != "linux":
        pytest.skip("only the system can end a worker that lets no thread run")
    monkeypatch.chdir(tmp_path)
    place, pids = tmp_path / "l.db", tmp_path / "pids"
    Ledger.create(place, home=tmp_path / "home", plugins=PLUGINS).close()
    node = {"handler": f"owned_handlers:{name}", "metadata": {"file": str(pids)}}

    def body(_: Report) -> None:
        with Ledger.open(place, plugins=PLUGINS) as own:
            workflow_execute(own, "t", chain(act=node), [], {"executor": "processes"})

    owner = start(body)
    assert soon(lambda: pids.exists() and pids.read_text().endswith("\n"))
    pid = int(pids.read_text())
    assert not is_gone(pid)
    owner.kill()
    assert owner.end()[0] == -9
    assert soon(lambda: is_gone(pid))
    assert pids.read_text() == f"{pid}\n"


def test_the_end_of_the_pipe_is_enough() -> None:
    """Where no system kills a worker, it ends in the middle of a call by its input's end."""
    with subprocess.Popen(
        [sys.executable, "-m", worker.__name__, "owned_handlers:serves_long"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        assert process.stdin is not None
        worker.send(cast("BinaryIO", process.stdin), b"{}")
        time.sleep(0.3)
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(60) == 1


def test_idle_workers_end_well() -> None:
    """A worker that answered everything ends by itself, and says nothing."""
    with subprocess.Popen(
        [sys.executable, "-m", worker.__name__, "owned_handlers:serves"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        for body in (b"", b"a", b"b" * 300_000):
            worker.send(cast("BinaryIO", process.stdin), body)
            assert worker.receive(cast("BinaryIO", process.stdout)) == body
        process.stdin.close()
        assert (process.wait(60), process.stderr.read()) == (0, b"")


def test_workers_outlive_the_thread_that_needed_them_first() -> None:
    """Threads come and go, and their workers stay for the next ones."""
    import threading  # noqa: PLC0415 - for this test

    said: list[bytes] = []
    with Processes(workers=1).host("owned_handlers:tells_pid") as send:
        for _ in range(3):
            thread = threading.Thread(target=lambda: said.append(send(b"")))
            thread.start()
            thread.join(60)
            time.sleep(0.1)
    assert len(said) == 3
    assert len(set(said)) == 1
