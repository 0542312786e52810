"""What is written for macOS and Windows, as far as it can be looked at from here."""

from __future__ import annotations

import ctypes
import datetime as dt
import math
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from muniment.errors import CannotTellError, RefusedError
from muniment_plugins.capsule import Capsule, Policy, machine, pool
from muniment_plugins.capsule import capsule as capsule_module
from muniment_plugins.capsule.isolation import limits, native, seatbelt
from muniment_plugins.capsule.isolation.seatbelt import Seatbelt, TaskInfo, profile
from muniment_plugins.capsule.parent import start, supervisor, windows_jobs
from muniment_plugins.capsule.parent.start import Alone, ChildSurroundings
from muniment_plugins.capsule.parent.streams import Threaded
from muniment_plugins.capsule.parent.warm_start import Forked

PROGRAM = "def fit_and_eval(data): return {'n': 1}"
PROFILE = r"""(version 1)
(deny default)
(allow process-exec
  (literal "/opt/python/bin/python3"))
(allow file-read* file-map-executable
  (subpath "/Library/Apple/System/Library")
  (subpath "/System")
  (subpath "/home/ada/a \"b\" \\c")
  (subpath "/private/var/db/timezone")
  (subpath "/usr/lib")
  (subpath "/usr/share/zoneinfo")
  (literal "/opt/python/bin/python3"))
(allow file-read*
  (literal "/dev/null")
  (literal "/dev/random")
  (literal "/dev/urandom"))
(allow file-read-metadata)
(allow file-read-data
  (literal "/"))
(allow process-info* signal
  (target self))
(allow sysctl-read)
"""


def test_the_profile_is_what_it_is() -> None:
    """Deny by default; a path cannot end its own quotation."""
    assert profile(["/opt/python/bin/python3"], ['/home/ada/a "b" \\c']) == PROFILE


def test_the_profile_of_this_interpreter_is_narrow() -> None:
    """Nothing is written, no socket opened, nothing executed but the interpreter."""
    command, flag, text = Seatbelt.prefix(["/opt/site-packages"])
    assert (command, flag) == ("/usr/bin/sandbox-exec", "-p")
    assert text.count("(") == text.count(")")
    assert text.count("(deny default)") == 1
    for word in ("write", "network", "process-fork", "mach-lookup", "ipc", "iokit"):
        assert word not in text
    assert f'(literal "{os.path.realpath(sys.executable)}")' in text
    assert '(subpath "/opt/site-packages")' in text
    assert '(subpath "/")' not in text
    assert "(with no-sandbox)" not in text


def test_structures_have_the_sizes_of_their_headers() -> None:
    """The systems refuse a structure whose size is not theirs."""
    assert ctypes.sizeof(TaskInfo) == 96
    assert TaskInfo.resident_size.offset == 8
    assert ctypes.sizeof(windows_jobs.Basic) == 64
    assert ctypes.sizeof(windows_jobs.Extended) == 144
    assert ctypes.sizeof(windows_jobs.UserInterface) == 4
    assert windows_jobs.Basic.flags.offset == 16
    assert windows_jobs.Basic.active_processes.offset == 40
    assert windows_jobs.Extended.process_memory.offset == 112
    assert windows_jobs.Extended.peak_process_memory.offset == 128


def test_a_job_allows_one_process() -> None:
    """From its start; time and memory come when a program begins."""
    first = windows_jobs.limits()
    assert first.basic.flags == 0x8 | 0x400 | 0x2000
    assert first.basic.active_processes == 1
    bounded = windows_jobs.limits(1.5, 4096)
    assert bounded.basic.flags == first.basic.flags | 0x2 | 0x100
    assert bounded.basic.process_time == 15_000_000
    assert bounded.process_memory == 4096


class Kernel:
    """Stands for kernel32: a job that takes a process in, and keeps what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int, bytes]] = []
        self.taken: list[int] = []
        self.closed = 0
        for name in ("CreateJobObjectW", "AssignProcessToJobObject", "CloseHandle"):
            setattr(self, name, self._function(name))
        for name in ("SetInformationJobObject", "QueryInformationJobObject"):
            setattr(self, name, self._function(name))

    def _function(self, name: str) -> Any:
        def function(*arguments: Any) -> Any:
            return getattr(self, f"on_{name}")(*arguments)

        return function

    def on_CreateJobObjectW(self, *_: Any) -> int:  # noqa: N802 - its name
        """Give a handle."""
        return 77

    def on_AssignProcessToJobObject(self, job: int, process: int) -> int:  # noqa: N802
        """Take it in."""
        self.taken.append(process)
        return job

    def on_SetInformationJobObject(  # noqa: N802
        self, job: int, kind: int, where: Any, size: int
    ) -> int:
        """Keep what is wanted."""
        self.told.append((kind, size, bytes(where._obj)))
        return job

    def on_QueryInformationJobObject(  # noqa: N802
        self, job: int, _kind: int, where: Any, size: int, _needed: None
    ) -> int:
        """Say that ten megabytes were the most."""
        assert size == 144
        where._obj.peak_process_memory = 10 << 20
        return job

    def on_CloseHandle(self, _job: int) -> int:  # noqa: N802
        """Count."""
        self.closed += 1
        return 1


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """Give what jobs ask of Windows, without its walls and limits around a child."""
    kernel = Kernel()
    monkeypatch.setattr(
        windows_jobs._CTYPES, "WinDLL", lambda *_, **__: kernel, raising=False
    )
    monkeypatch.setattr(windows_jobs._CTYPES, "WinError", lambda: "no", raising=False)
    return kernel


class FakeJobChild(windows_jobs.JobChild):
    """Starts as children start here, and is in a job as far as it knows."""

    def _start(self, surroundings: ChildSurroundings) -> Any:
        process = Alone._start(self, surroundings)  # type: ignore[arg-type]
        process._handle = 1234  # type: ignore[attr-defined]
        return process

    _belt = None


def test_a_child_in_a_job_runs_a_program(
    windows: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in the job before it has a program, bounded before that runs, and ended."""
    monkeypatch.setattr(supervisor, "opened", Threaded)
    child = FakeJobChild(ChildSurroundings.of((), {}))
    assert windows.taken == [1234]
    assert [kind for kind, _, _ in windows.told] == [4, 9]
    request = (
        b'{"clock":"real","code":"def f(d): return {\'n\': d}","data":3,"seed":0,'
        b'"entrypoint":"f","imports":[],"limits":{"mem_mb":64,"time_s":2},'
        b'"max_output":10}'
    )
    outcome = supervisor.supervise(child, request, bounds=(2, 64), max_output=10)
    assert outcome.answer == {"ok": {"n": 3}}
    assert outcome.raised["job"]["memory"] == (10 + 64) << 20
    assert outcome.raised["job"]["active_processes"] == 1
    kind, _, told = windows.told[-1]
    bounded = windows_jobs.Extended.from_buffer_copy(told)
    assert (kind, bounded.process_memory) == (9, (10 + 64) << 20)
    assert bounded.basic.process_time == 4 * 10_000_000
    assert windows.closed == 1
    assert outcome.usage["max_rss_kb"] == 10 << 10


def test_a_job_that_cannot_be_made_is_told(
    windows: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a job there is no child, and what to do is said."""
    monkeypatch.setattr(windows, "on_CreateJobObjectW", lambda *_: 0)
    with pytest.raises(CannotTellError, match="WSL2"):
        FakeJobChild(ChildSurroundings.of((), {}))


def test_windows_is_a_process_in_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """No child is asked to get out, and more than a process is refused."""
    monkeypatch.setattr("muniment_plugins.capsule.machine.os.name", "nt")
    found = machine.probe_machine()
    monkeypatch.undo()
    assert (found.level, found.probe) == ("process", {})
    assert found.missing == {"wall": "none is made for this system"}
    monkeypatch.setattr(capsule_module, "machine", lambda: found)
    with pytest.raises(RefusedError, match="this capsule gives process"):
        Capsule(Policy(require="os-partial")).run(PROGRAM, None)


def test_a_system_without_limits_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that cannot limit itself states that, instead of limits."""
    monkeypatch.setattr(limits, "resource", None)
    assert list(limits.apply_limits(1, 1)) == ["missing"]


BARE = """
import os, sys
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
for name in ("fork", "getuid", "killpg", "register_at_fork", "setsid", "uname", "wait4"):
    delattr(os, name)
for name in ("O_CLOEXEC", "O_NONBLOCK", "O_PATH"):
    delattr(os, name)
import _signal
for name in ("ITIMER_PROF", "SIGKILL", "SIGPROF", "SIGXCPU", "pthread_sigmask"):
    delattr(_signal, name)
os.name = "nt"
os.O_BINARY = 0
if __name__ == "__main__":
    sys.platform = "win32"
    windows = type(sys)("msvcrt")
    windows.open_osfhandle = lambda handle, flags: handle
    sys.modules["msvcrt"] = windows
"""


@pytest.mark.usefixtures("belted")
def test_a_child_needs_nothing_that_only_posix_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the calls of POSIX taken away, a child still answers, and states no limits."""
    text = start.WORKER.read_text().replace("__file__", repr(str(start.WORKER)))
    bare = tmp_path / "worker.py"
    head, future, rest = text.partition("from __future__ import annotations\n")
    bare.write_text(f"{head}{future}{BARE}{rest}")
    monkeypatch.setattr(start, "WORKER", bare)
    monkeypatch.setattr(start, "_belt", lambda: None)
    monkeypatch.setattr(
        capsule_module, "machine", lambda: machine.Machine("process", {})
    )
    allowed = ("dataclasses", "datetime", "json", "math", "random", "re", "time")
    code = (
        "import dataclasses, datetime, json, math, random, re, time\n"
        "def fit_and_eval(data):\n"
        "    print(data)\n"
        "    return {'n': random.random(), 'now': time.time()}\n"
    )
    policy = Policy(allowed_imports=allowed, clock="frozen")
    execution = Capsule(policy).run(code, dt.date(2020, 1, 1))
    assert (execution.status, execution.level) == ("ok", "process"), execution.error
    assert "missing" in execution.layers["rlimits"]  # type: ignore[operator]
    assert execution.stdout == "2020-01-01\n"


class Belt(Seatbelt):
    """Stands for macOS: no prefix, and a memory that is read in /proc."""

    @staticmethod
    def prefix(paths: Any) -> tuple[str, ...]:
        """Start the interpreter as it is."""
        assert paths is not None
        return ()


@pytest.fixture
def belted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start children as on macOS: one by one, watched by this side."""

    def resident(pid: int) -> int:
        statm = Path(f"/proc/{pid}/statm").read_text().split()
        return int(statm[1]) * 4096

    monkeypatch.setattr(native, "architecture", lambda: "")
    monkeypatch.setattr(start, "_belt", Belt)
    monkeypatch.setattr(seatbelt, "resident", resident)
    monkeypatch.setattr(pool.Pool, "_have", lambda *_: None)
    monkeypatch.setattr(supervisor, "_unmet", lambda *_: None)
    monkeypatch.setattr(limits, "_address_space", lambda: None)


@pytest.mark.usefixtures("belted")
def test_a_belted_child_is_partly_walled_if_it_could_not_get_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The profile gives os-partial; a probe that got out takes it away again."""
    shut = machine.Machine("os-partial", {"read": "EPERM"})
    monkeypatch.setattr(capsule_module, "machine", lambda: shut)
    execution = Capsule(Policy(require="os-partial")).run(PROGRAM, None)
    assert (execution.status, execution.level) == ("ok", "os-partial")
    assert execution.layers["seatbelt"]["default"] == "deny"  # type: ignore[index, call-overload]
    with pytest.raises(RefusedError, match="os-strong isolation is required"):
        Capsule(Policy(require="os-strong")).run(PROGRAM, None)
    monkeypatch.setattr(capsule_module, "machine", machine.probe_machine)
    open_one = Capsule().run(PROGRAM, None)  # here no profile holds it
    assert open_one.layers["probe"]["read"] == "allowed"  # type: ignore[index, call-overload]
    assert open_one.level == "process"


@pytest.mark.usefixtures("belted")
def test_memory_that_no_limit_holds_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """What outgrows its bounds is ended, and the reason is memory."""
    monkeypatch.setattr(
        capsule_module, "machine", lambda: machine.Machine("os-partial", {})
    )
    # The child's own limit is that of the address space, which macOS does not keep.
    code = (
        "import time\ndef fit_and_eval(data):\n    x = b'x' * (data << 20)\n"
        "    time.sleep(data / 10)\n    return {'n': len(x)}"
    )
    capsule = Capsule(Policy(allowed_imports=("time",), mem_mb=64, time_s=30))
    monkeypatch.setattr(capsule, "_request", unlimited(capsule._request))
    assert capsule.run(code, 8).metrics == {"n": 8 << 20}
    execution = capsule.run(code, 200)
    assert execution.status == "limit"
    assert execution.error is not None
    assert execution.error["rule"] == "capsule/memory"


def unlimited(genuine: Any) -> Any:
    """Return what asks for a child that limits its own memory less."""

    def request(*arguments: Any) -> bytes:
        text: bytes = genuine(*arguments)
        return text.replace(b'"mem_mb":64', b'"mem_mb":4096')

    return request


def test_memory_is_watched_where_it_must_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only macOS has it looked at every few milliseconds; elsewhere limits hold."""
    assert Forked.glance_s == math.inf
    assert start._belt() is None
    monkeypatch.setattr(sys, "platform", "darwin")
    assert isinstance(start._belt(), Seatbelt)
