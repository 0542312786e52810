"""Every limit is hit and reported by name; the wall behind the language layer holds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from attack_modes import guardless
from muniment_plugins.capsule import Capsule, Execution, Policy
from muniment_plugins.capsule.parent import supervisor
from muniment_plugins.capsule.parent.supervisor import GRACE_S
from muniment_plugins.capsule.pool import pool
from muniment_plugins.capsule.protocol import frame
from muniment_plugins.capsule.validation import Validated
from processes import children_of, is_worker, soon

BOUNDS = Policy(allowed_imports=("math", "time"), time_s=0.5, mem_mb=64)
ROOMY = Policy(allowed_imports=("math", "time"), time_s=30, mem_mb=64)

FIXED = {
    *("JE_ARROW_MALLOC_CONF", "JOBLIB_MULTIPROCESSING", "LC_ALL"),
    *("MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "OMP_NUM_THREADS"),
    *("OPENBLAS_NUM_THREADS", "PYTHONHASHSEED", "TZ"),
}
TUNING = ("MKL_", "OMP_", "OPENBLAS_")
"""What a machine may set for its processor, which a child gets whole."""


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> Capsule:
    """Return a capsule that runs what it has not read: no language layer before it.

    The program gets the system through a built-in module that the plan names.
    """

    class Unread(Capsule):
        def validate(self, code: str, entrypoint: str = "fit_and_eval") -> Validated:
            return Validated(code, entrypoint, ("ctypes", "os", "signal", "time"))

    monkeypatch.delenv("MUNIMENT_REQUIRE", raising=False)
    policy = Policy(
        allowed_imports=("ctypes", "os", "signal", "time"),
        time_s=0.5,
        mem_mb=64,
        allow_dangerous=True,
    )
    return Unread(policy)


def run(capsule: Capsule, body: str, head: str = "") -> Execution:
    """Run a function with this body."""
    indented = body.replace("\n", "\n    ")
    return capsule.run(f"{head}\ndef fit_and_eval(data):\n    {indented}\n", None)


def reason(execution: Execution) -> tuple[str, object]:
    """Return status and rule."""
    assert execution.error is not None
    return execution.status, execution.error["rule"]


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give programs the time on the wall clock that a user gives them."""
    monkeypatch.setattr(supervisor, "GRACE_S", GRACE_S)


def test_computing_without_end_is_a_cpu_timeout() -> None:
    """The CPU time ends a loop to the tick, and says which limit it was."""
    execution = run(Capsule(BOUNDS), "while True: pass")
    assert reason(execution) == ("timeout", "capsule/cpu")
    assert execution.error is not None
    assert execution.error["message"] == "the CPU time is over (SIGPROF)"
    assert 0.4 < float(str(execution.usage["cpu_s"])) < 2


@pytest.mark.usefixtures("hurried")
def test_waiting_without_end_is_a_wall_timeout() -> None:
    """Sleep uses no CPU; the wall clock ends it one second after time_s."""
    execution = run(Capsule(BOUNDS), "time.sleep(600)", "import time")
    assert reason(execution) == ("timeout", "capsule/wall")
    assert 1.5 <= float(str(execution.usage["wall_s"])) < 60


@pytest.mark.parametrize(
    "body",
    [
        "return {'n': len(bytearray(1 << 28))}",
        "x = []\nwhile True: x.append('y' * 1_000_000)",
        "x = 'y'\nwhile True: x += x",
        "x = None\nwhile True: x = [x]",
    ],
)
def test_too_much_memory_is_a_limit(body: str) -> None:
    """mem_mb counts from what the interpreter takes; beyond it, a limit by name."""
    assert reason(run(Capsule(ROOMY), body)) == ("limit", "capsule/memory")


def test_memory_within_the_limit_is_given() -> None:
    """What mem_mb allows can be used, with a package loaded too."""
    policy = Policy(allowed_imports=("numpy",), mem_mb=64)
    body = "return {'n': int(np.ones(4_000_000).sum())}"
    execution = run(Capsule(policy), body, "import numpy as np")
    assert execution.metrics == {"n": 4_000_000}


def test_output_without_end_is_dropped_until_the_time_is_over() -> None:
    """Endless printing fills no memory and blocks nobody."""
    execution = run(Capsule(BOUNDS), "while True: print('y' * 999)")
    assert reason(execution) == ("timeout", "capsule/cpu")
    assert len(execution.stdout) == BOUNDS.max_output


@pytest.mark.usefixtures("hurried")
def test_signals_cannot_be_shrugged_off(unread: Capsule) -> None:
    """A child that ignores the CPU signals still ends, and as a timeout."""
    body = (
        "for s in (signal.SIGPROF, signal.SIGXCPU): signal.signal(s, signal.SIG_IGN)\n"
        "while True: pass"
    )
    execution = run(unread, body, "import signal")
    assert reason(execution) == ("timeout", "capsule/wall")


def test_the_cpu_limit_stands_behind_the_timer(unread: Capsule) -> None:
    """A child that ignores the timer meets the limit of whole seconds."""
    body = "signal.signal(signal.SIGPROF, signal.SIG_IGN)\nwhile True: pass"
    execution = run(unread, body, "import signal")
    assert execution.error is not None
    assert execution.error["message"] == "the CPU time is over (SIGXCPU)"


def test_death_by_a_signal_is_named(unread: Capsule) -> None:
    """A child that is killed says by what."""
    body = "ctypes.string_at(0)"
    execution = run(unread, body, "import ctypes")
    assert reason(execution) == ("killed", "capsule/signal")
    assert execution.error is not None
    assert execution.error["message"] == "ended by SIGSEGV"


def test_files_cannot_be_filled(unread: Capsule, tmp_path: Path) -> None:
    """Even with the system at hand, a file stays empty."""
    path = tmp_path / "canary"
    body = (
        f"fd = os.open({str(path)!r}, os.O_CREAT | os.O_WRONLY)\nos.write(fd, b'x')\n"
        "return {}"
    )
    assert run(unread, body, "import os").status == "error"
    assert not path.exists() or path.read_bytes() == b""


def test_nothing_of_the_parent_is_inherited(
    unread: Capsule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No secret from the environment, no open descriptor, no input."""
    monkeypatch.setenv("SECRET_KEY", "hush")
    planted, other = os.pipe()
    os.set_inheritable(planted, True)
    body = (
        "fds = [n for n in range(3, 1024) if is_open(n)]\n"
        "return {'env': sorted(os.environ), 'fds': len(fds), 'in': len(os.read(0, 1)),"
        " 'cwd': os.getcwd(), 'leads': os.getpgrp() == os.getpid()}"
    )
    head = (
        "import os\n"
        "def is_open(n):\n"
        "    try:\n        os.fstat(n)\n    except OSError:\n        return False\n"
        "    return True\n"
    )
    tuned = [name for name in os.environ if name.startswith(TUNING)]
    execution = run(unread, body, head)
    os.close(planted)
    os.close(other)
    assert execution.metrics == {
        "env": sorted({*FIXED, *tuned}),
        "fds": 1,
        "in": 0,
        "cwd": "/",
        "leads": True,
    }


def is_read(fifo: Path) -> bool:
    """Tell whether any process has the other end open."""
    try:
        os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


@pytest.mark.usefixtures("hurried")
def test_descendants_die_with_the_child(unread: Capsule, tmp_path: Path) -> None:
    """What a child leaves in its group is gone when the run returns."""
    fifo = tmp_path / "alive"
    os.mkfifo(fifo)
    body = (
        "if os.fork() == 0:\n"
        f"    os.open({str(fifo)!r}, os.O_RDWR)\n    time.sleep(600)\n"
        "time.sleep(0.2)\nreturn {}"
    )
    execution = run(unread, body, "import os, time")
    # Only uid 0 may fork at all; its descendant holds the pipe open to the deadline.
    assert execution.status in {"error", "timeout"}
    assert soon(lambda: not is_read(fifo))  # it is killed, not ours to reap


FORGED = {
    "a third frame": frame(b'{"ok":{}}') * 2,
    "no JSON": frame(b"{]"),
    "no object": frame(b"[]"),
    "half a frame": frame(b'{"ok":{}}')[:-1],
    "too large": b"\x7f\0\0\0",
    "NaN": frame(b'{"failed":{"line":NaN}}'),
    "a member twice": frame(b'{"ok":{"a":1,"a":2}}'),
    "infinity": frame(b'{"failed":{"line":1e999}}'),
    "neither": frame(b"{}"),
    "both": frame(b'{"failed":{},"ok":{}}'),
    "no text": frame(b"\xff\xfe"),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_answers_are_violations(unread: Capsule, name: str) -> None:
    """Whatever a child writes on the answers' pipe, only two good frames count."""
    body = f"os.write(int(fd()), {FORGED[name]!r})\nctypes.CDLL(None)._exit(0)"
    head = (
        "import ctypes, os\n"
        "def fd():\n"
        "    for n in range(3, 1024):\n"
        "        try:\n            os.fstat(n)\n            return n\n"
        "        except OSError:\n            pass\n"
    )
    execution = run(unread, body, head)
    assert reason(execution) == ("killed", "capsule/protocol")
    assert execution.metrics is None


def test_a_child_that_ends_early_is_told(unread: Capsule) -> None:
    """An end without an answer is not a result."""
    with guardless():
        execution = run(unread, "ctypes.CDLL(None)._exit(0)", "import ctypes")
    assert reason(execution) == ("killed", "capsule/protocol")


def descriptors() -> int:
    """Return how many descriptors this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def test_runs_leave_nothing_behind() -> None:
    """Executions that end in every way leave no descriptor and no process."""
    capsule = Capsule(Policy(time_s=0.2, mem_mb=32))
    bodies = ("return {}", "while True: pass", "return {'n': len(bytearray(1 << 27))}")
    run(capsule, "return {}")
    others = {pid for pid in children_of(os.getpid()) if not is_worker(pid)}
    before = descriptors()
    for body in bodies * 2:
        run(capsule, body)
    assert descriptors() == before
    pool().close()
    assert set(children_of(os.getpid())) <= others
