"""Programs that multiply, and pipes that overflow: nothing stays, and the next one runs."""

from __future__ import annotations

import contextlib
import os
import sys

import pytest

import unguarded_programs
from machines import strong
from muniment_plugins.capsule import Capsule, pool
from muniment_plugins.capsule.machine import machine
from muniment_plugins.capsule.parent.start import ChildSurroundings
from muniment_plugins.capsule.parent.warm_start import Worker
from processes import children_of, is_worker, soon

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

NEXT = "def fit_and_eval(data): return {'n': data}"

FORKS = """
refused = 0
for _ in range(5000):
    try:
        os.fork()
    except OSError:
        refused += 1
return {'refused': refused}"""
THREADS = """
start = ctypes.pythonapi.PyThread_start_new_thread
start.restype = ctypes.c_ulong
harmless = ctypes.cast(ctypes.pythonapi.Py_IsInitialized, ctypes.c_void_p)
return {'refused': [start(harmless, None) for _ in range(5000)].count(2 ** 64 - 1)}"""


def is_tidy() -> bool:
    """Tell whether no worker has more than the child that waits."""
    workers = filter(is_worker, children_of(os.getpid()))
    below = [children_of(worker) for worker in workers]
    return all(len(waiting) <= 1 for waiting in below) and not any(
        children_of(pid) for waiting in below for pid in waiting
    )


@strong
@pytest.mark.parametrize("body", [FORKS, THREADS])
def test_bombs_of_processes_do_not_go_off(body: str) -> None:
    """Every attempt is refused, by the wall alone; nothing of it is left."""
    machine()
    execution = unguarded_programs.run(
        body, unguarded_programs.Unread(unguarded_programs.POLICY)
    )
    assert execution.metrics == {"refused": 5000}
    assert soon(is_tidy)
    assert Capsule().run(NEXT, 1).metrics == {"n": 1}


@pytest.mark.parametrize("descriptor", [1, 2])
def test_output_that_floods_a_pipe_is_read(descriptor: int) -> None:
    """Whichever pipe is filled, it is read and dropped, and the answer still comes."""
    body = f"""
for _ in range(200):
    left = b'x' * 100_000
    while left:
        left = left[os.write({descriptor}, left):]
return {{'n': 1}}"""
    execution = unguarded_programs.run(
        body, unguarded_programs.Unread(unguarded_programs.POLICY)
    )
    assert (execution.status, execution.metrics) == ("ok", {"n": 1})
    assert len(execution.stdout) <= unguarded_programs.POLICY.max_output


@pytest.mark.parametrize("text", [b"x" * 5000, b"[]", b"{}", b"\xff", b'{"imports":1}'])
def test_a_worker_whose_pipe_is_filled_is_replaced(text: bytes) -> None:
    """What no host of ours would say ends the worker, and the next program runs."""
    waiting = pool.pool()
    waiting.close()
    assert Capsule().run(NEXT, 1).metrics == {"n": 1}
    surroundings = ChildSurroundings.of((), {})
    ((_, worker),) = waiting._idle
    assert isinstance(worker, Worker)
    control = worker._control
    control.setblocking(False)
    with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
        for _ in range(10_000):
            control.send(text)
    control.setblocking(True)
    pid = worker.pid
    assert Capsule().run(NEXT, 2).metrics == {"n": 2}
    ((_, other),) = waiting._idle
    assert other.pid != pid
    assert waiting.examined(surroundings).level == machine().level
