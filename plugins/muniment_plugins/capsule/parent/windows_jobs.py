"""Windows: a child in a job object, which limits it and does not isolate it.

    {"job": {"active_processes": 1, "kill_on_close": true, "memory": 561774592,
             "process_time_s": 7.0, "ui": "restricted"}}

Rules:

- The child waits for its request, so that it is in the job before it has a program. It
  can start no process, leaves nothing behind, and sees neither clipboard nor desktop.
- Memory and time are set when the program begins: what the interpreter and the allowed
  packages use is not counted, and the parent's wall clock comes first.
- It reads and writes what its user may, and reaches the network: the level is
  ``process``. For isolation, run under WSL2 or in a container.

Written from the manuals, and not tested by us on this system. See *Job Objects* and
``winnt.h``; the structures have fixed widths, so their sizes are the same everywhere.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import os
import subprocess
from typing import Any

from muniment.encoding.canonical import JsonValue
from muniment.errors import CannotTellError
from muniment_plugins.capsule.parent.findings import Machine
from muniment_plugins.capsule.parent.start import (
    ChildSurroundings,
    End,
    Pipes,
    worker_command,
)
from muniment_plugins.capsule.protocol import frame

__all__ = ["Basic", "Extended", "JobChild", "UserInterface", "limits"]

ACTIVE_PROCESS = 0x8
PROCESS_TIME = 0x2
PROCESS_MEMORY = 0x100
DIE_ON_UNHANDLED_EXCEPTION = 0x400
KILL_ON_JOB_CLOSE = 0x2000
UI_ALL = 0xFF  # handles, clipboard both ways, parameters, display, atoms, desktop, exit

# The parts of these modules that only Windows has.
_CTYPES: Any = ctypes
_OS: Any = os
_SUBPROCESS: Any = subprocess

_UI, _EXTENDED = 4, 9  # JOBOBJECTINFOCLASS
_BACKSTOP_S = 2.0
_TICKS_PER_S = 10_000_000
_ENDING_S = 10.0
_LEAVING_S = 1.0


class Basic(ctypes.Structure):
    """``JOBOBJECT_BASIC_LIMIT_INFORMATION``."""

    _fields_ = (
        ("process_time", ctypes.c_int64),
        ("job_time", ctypes.c_int64),
        ("flags", ctypes.c_uint32),
        ("minimum_working_set", ctypes.c_size_t),
        ("maximum_working_set", ctypes.c_size_t),
        ("active_processes", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t),
        ("priority", ctypes.c_uint32),
        ("scheduling", ctypes.c_uint32),
    )


class Extended(ctypes.Structure):
    """``JOBOBJECT_EXTENDED_LIMIT_INFORMATION``."""

    _fields_ = (
        ("basic", Basic),
        ("io_counters", ctypes.c_uint64 * 6),
        ("process_memory", ctypes.c_size_t),
        ("job_memory", ctypes.c_size_t),
        ("peak_process_memory", ctypes.c_size_t),
        ("peak_job_memory", ctypes.c_size_t),
    )


class UserInterface(ctypes.Structure):
    """``JOBOBJECT_BASIC_UI_RESTRICTIONS``."""

    _fields_ = (("restrictions", ctypes.c_uint32),)


def limits(time_s: float = 0.0, memory: int = 0) -> Extended:
    """Return the limits of a job: one process and, if given, time and memory."""
    wanted = Extended()
    wanted.basic.flags = ACTIVE_PROCESS | DIE_ON_UNHANDLED_EXCEPTION | KILL_ON_JOB_CLOSE
    wanted.basic.active_processes = 1
    if time_s:
        wanted.basic.flags |= PROCESS_TIME
        wanted.basic.process_time = int(time_s * _TICKS_PER_S)
    if memory:
        wanted.basic.flags |= PROCESS_MEMORY
        wanted.process_memory = memory
    return wanted


class _Job:
    """One job object, by its handle."""

    def __init__(self) -> None:
        self._kernel = _CTYPES.WinDLL("kernel32", use_last_error=True)
        handle = ctypes.c_void_p
        self._kernel.CreateJobObjectW.restype = handle
        self._kernel.CreateJobObjectW.argtypes = (handle, ctypes.c_wchar_p)
        self._kernel.AssignProcessToJobObject.argtypes = (handle, handle)
        self._kernel.CloseHandle.argtypes = (handle,)
        information = (handle, ctypes.c_int, handle, ctypes.c_uint32)
        self._kernel.SetInformationJobObject.argtypes = information
        self._kernel.QueryInformationJobObject.argtypes = (*information, handle)
        self._handle = self._kernel.CreateJobObjectW(None, None)
        if not self._handle:
            self._refuse()
        self.set(_UI, UserInterface(UI_ALL))
        self.set(_EXTENDED, limits())

    def set(self, kind: int, wanted: ctypes.Structure) -> None:
        """Set one kind of limits."""
        size = ctypes.sizeof(wanted)
        where = ctypes.byref(wanted)
        if not self._kernel.SetInformationJobObject(self._handle, kind, where, size):
            self._refuse()

    def limit(self, time_s: float, memory: int) -> None:
        """Bound the time and memory of the process in it."""
        self.set(_EXTENDED, limits(time_s, memory))

    def assign(self, process: int) -> None:
        """Put a process into the job, by its handle."""
        if not self._kernel.AssignProcessToJobObject(self._handle, process):
            self._refuse()

    def peak(self) -> int:
        """Return the most bytes that its process ever had committed."""
        found = Extended()
        size = ctypes.sizeof(found)
        where = ctypes.byref(found)
        self._kernel.QueryInformationJobObject(
            self._handle, _EXTENDED, where, size, None
        )
        return int(found.peak_process_memory)

    def close(self) -> None:
        """End the process in it."""
        self._kernel.CloseHandle(self._handle)

    def _refuse(self) -> None:
        raise CannotTellError(
            f"the job object could not be made: {_CTYPES.WinError()}",
            rule="capsule/spawn",
            remedy="leave the job that this process is in, or run under WSL2",
        )


class JobChild:
    """An interpreter that lives for one execution, in a job."""

    def __init__(self, surroundings: ChildSurroundings, spent_s: float = 0.0) -> None:
        self.spent_s = spent_s
        self.found: Machine | None = None
        self.glance_s = math.inf
        self.pipes = Pipes.opened()
        self._job = _Job()
        try:
            self._process: Any = self._start(surroundings)
            self._job.assign(int(self._process._handle))  # noqa: SLF001 - no other way
        except BaseException:
            self._job.close()
            self.pipes.close()
            raise
        finally:
            self.pipes.close_childs()
        self.pid = self._process.pid
        around = {**json.loads(surroundings.text), "imports": surroundings.imports}
        self.preface = frame(json.dumps(around).encode())

    def _start(self, surroundings: ChildSurroundings) -> Any:
        requests, output, complaints, answers = self.pipes.childs
        passed = __import__("msvcrt").get_osfhandle(answers)
        _OS.set_handle_inheritable(passed, True)
        startup = _SUBPROCESS.STARTUPINFO(lpAttributeList={"handle_list": [passed]})
        return subprocess.Popen(  # noqa: S603 - our own interpreter and file
            worker_command(("alone", str(passed))),
            stdin=requests,
            stdout=output,
            stderr=complaints,
            startupinfo=startup,
            creationflags=_SUBPROCESS.CREATE_NO_WINDOW,
            cwd="/",
            env={**dict(surroundings.env), "SYSTEMROOT": os.environ["SYSTEMROOT"]},
        )

    def hold(self, time_s: float, mem_mb: int) -> dict[str, JsonValue]:
        """Bound time and memory from now on; return the layer."""
        memory, backstop_s = self._job.peak() + mem_mb * 1024 * 1024, _BACKSTOP_S
        self._job.limit(time_s + backstop_s, memory)
        return {
            "job": {
                "active_processes": 1,
                "kill_on_close": True,
                "memory": memory,
                "process_time_s": time_s + backstop_s,
                "ui": "restricted",
            }
        }

    def watch(self, seconds: float) -> None:
        """Leave that to the job, which ends with this process, and bounds its time."""

    def outgrown(self) -> bool:
        """Return False: the job bounds it."""
        return False

    def end(self, *, answered: bool = False) -> End:
        """End the child; one that has *answered* may end itself, and keeps its code."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LEAVING_S if answered else 0)
        peak = self._job.peak()
        self._job.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDING_S)
        return End(self._process.returncode or 0, 0.0, peak // 1024)
