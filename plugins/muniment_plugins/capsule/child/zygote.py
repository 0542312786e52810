"""The warm worker: loads packages, forks a child per execution, reaps it.

    <- {"paths": […], "walls": {…}}                      once
    <- {"imports": ["numpy"], "most_s": 131}  and four descriptors    -> {"pid": 4711}
    <- {"answered": true}                                -> {"status": 0, "cpu_s": …}

Rules:

- It never sees a program or its data: its child reads them from a pipe.
- It forks with one thread or not at all: a child would inherit the locks of threads
  that it does not have.
- It does the work that its children share, once: loads modules, makes views, opens the
  places of the file rules. Each child confines itself.
- It forks the child of the next execution while nobody waits for it.
- The garbage collector does not run here, so that children share the loaded modules.
- It ends a child that the host has not ended in time: a host may be stopped.
- It ends when the host does, which it sees by the end of the socket, or when no request
  came for `IDLE_S`; the system kills a child that outlives it.

`warm_start` is the other side. Runs in the worker: only small modules at the top.
"""

from __future__ import annotations

import gc
import os

from muniment_plugins.capsule.child.program import LoadedProgram, failure, serve
from muniment_plugins.capsule.child.warm_up import takes_long, warm_up
from muniment_plugins.capsule.isolation.procfs import read_proc
from muniment_plugins.capsule.protocol import parse_json

TYPE_CHECKING = False  # typing itself costs more than a bare interpreter's start
if TYPE_CHECKING:
    from typing import Any, NoReturn

__all__ = ["IDLE_S", "LEISURE_S", "REAP_S", "serve_forks"]

IDLE_S = 300
LEISURE_S = {False: 0.002, True: 0.0003}
"""Seconds that a child waits for its pipes before it warms up; less if that is slow."""
REAP_S = 0.02
CONTROL = 0
_LONGEST = 1 << 18
_SIGKILL = 9
_SET_CHILD_SUBREAPER = 36
_DESCRIPTORS = 4
_INT = 4
_SOCKET, _RIGHTS = 1, 1  # SOL_SOCKET, SCM_RIGHTS


def serve_forks() -> NoReturn:
    """Serve until the host is gone or has no more use for this worker."""
    gc.disable()
    host, own = _Host(), os.getpid()
    prepared = LoadedProgram(host.receive()[0], is_shared=True)
    if prepared.system is not None:
        # This process inherits what a child leaves behind, to kill and reap it.
        prepared.system.call("prctl", _SET_CHILD_SUBREAPER, 1)
    next_one: Spare | None = None
    while True:
        order, descriptors = host.receive(next_one)
        problem, is_changed = _load(prepared, order["imports"])
        if problem:
            host.send(problem)
            _leave()
        if next_one is None or is_changed or not next_one.take(descriptors):
            _reap(wait=True)  # also a spare child that lacks the new imports
            next_one = Spare(prepared, own)
            if not next_one.take(descriptors):
                _leave()
        for descriptor in descriptors:
            os.close(descriptor)
        child = next_one
        host.send(f'{{"pid":{child.pid}}}')
        answered = host.await_end(child.pid, order["most_s"])
        host.send((answered and _used(child)) or _ended(child))
        next_one = Spare(prepared, own)


class _Host:
    """The socket to the host, through the C module that ``socket`` wraps."""

    def __init__(self) -> None:
        self._sockets: Any = __import__("_socket")
        self.socket = self._sockets.socket(fileno=CONTROL)
        self._room = self._sockets.CMSG_SPACE(_DESCRIPTORS * _INT)

    def receive(self, spare: Spare | None = None) -> tuple[Any, list[int]]:
        """Return the next message; end with the host, or when it stays silent.

        Dead children are reaped while nobody waits for anything else.
        """
        try:
            self.socket.settimeout(REAP_S)
            try:
                text, extra, *_ = self.socket.recvmsg(_LONGEST, self._room)
                _reap(wait=False, spare=spare)
            except TimeoutError:
                _reap(wait=True, spare=spare)
                self.socket.settimeout(IDLE_S)
                text, extra, *_ = self.socket.recvmsg(_LONGEST, self._room)
            self.socket.settimeout(None)
        except OSError:
            _leave()
        if not text:
            _leave()
        return parse_json(text.decode()), _descriptors(extra)

    def send(self, text: str) -> None:
        """Answer; end if the host is gone."""
        try:
            self.socket.send(text.encode())
        except OSError:
            _leave()

    def await_end(self, pid: int, most_s: float) -> bool:
        """Wait until the host wants the child ended; tell whether it had an answer.

        Without a host, or without a word from it for *most_s*, the child is killed.
        """
        try:
            self.socket.settimeout(most_s)
            try:
                text = self.socket.recv(_LONGEST)
            except TimeoutError:
                _kill(pid)
                self.socket.settimeout(None)
                text = self.socket.recv(_LONGEST)
        except OSError:
            text = b""
        if not text:
            _kill(pid)
            _leave()
        answered: bool = parse_json(text.decode())["answered"]
        return answered


def _leave() -> NoReturn:
    """End, and leave no children behind for another process to inherit."""
    _reap(wait=True)
    os._exit(0)


class Spare:
    """A child that waits for the pipes of the next execution, ready for the rest."""

    def __init__(self, prepared: LoadedProgram, parent: int) -> None:
        sockets: Any = __import__("_socket")
        kind = sockets.AF_UNIX, sockets.SOCK_SEQPACKET
        self._ours, theirs = sockets.socketpair(*kind)
        self.spent_s = 0.0
        """The CPU time that it used before its execution."""
        self.pid = os.fork()
        if self.pid == 0:
            self._ours.close()
            _leave_all_but(1, 2, theirs.fileno(), *prepared.descriptors())
            _become_child(prepared, theirs, parent)
        theirs.close()

    def take(self, descriptors: list[int]) -> bool:
        """Hand the pipes over; tell whether the child was there to take them."""
        data = b"".join(one.to_bytes(_INT, "little") for one in descriptors)
        try:
            self.spent_s = _cpu_s(self.pid)
            self._ours.sendmsg([b"."], [(_SOCKET, _RIGHTS, data)])
        except OSError:
            return False
        return True


def _descriptors(extra: list[tuple[int, int, bytes]]) -> list[int]:
    return [
        int.from_bytes(data[at : at + _INT], "little")
        for _, _, data in extra
        for at in range(0, len(data), _INT)
    ]


def _load(prepared: LoadedProgram, imports: list[str]) -> tuple[str, bool]:
    """Load *imports*; return what prevents a child, and whether anything changed."""
    try:
        is_changed = prepared.load(imports) or prepared.readied is None
    except Exception as error:  # noqa: BLE001 - a package may raise anything on import
        return failure("prepare", error), True
    threads = len(os.listdir("/proc/self/task"))  # noqa: PTH208 - pathlib is slow
    if threads > 1:
        return f'{{"threads":{threads}}}', True
    if is_changed:
        warm_up(prepared.seeds, imports)
        prepared.tighten()
        prepared.ready()
        gc.collect()
        gc.freeze()
    return "", is_changed


def _become_child(prepared: LoadedProgram, spare: Any, parent: int) -> NoReturn:
    """Wait for the pipes, and serve one execution.

    If they do not come at once, it uses the packages: pages that it shares with the
    worker until it writes to them become its own while nobody waits.
    """
    os.setsid()
    room = __import__("_socket").CMSG_SPACE(_DESCRIPTORS * _INT)
    spare.settimeout(LEISURE_S[takes_long(prepared.asked)])
    try:
        text, extra, *_ = spare.recvmsg(1, room)
    except TimeoutError:
        warm_up(prepared.seeds, prepared.asked)
        spare.settimeout(None)
        text, extra, *_ = spare.recvmsg(1, room)
    if not text:
        os._exit(0)
    spare.close()
    requests, output, complaints, answers = _descriptors(extra)
    for stream, descriptor in enumerate((requests, output, complaints)):
        os.dup2(descriptor, stream)
        if descriptor != stream:
            os.close(descriptor)
    gc.enable()
    serve(prepared, answers, parent)


def _leave_all_but(*kept: int) -> None:
    """Close every descriptor except those *kept*."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - pathlib is slow
        if int(name) not in kept:
            _close(int(name))


def _close(descriptor: int) -> None:
    try:
        os.close(descriptor)
    except OSError:
        return  # the descriptor that listed the others


def _kill(pid: int) -> None:
    for kill in (os.killpg, os.kill):  # the second if it does not lead a group yet
        try:
            kill(pid, _SIGKILL)
        except ProcessLookupError:
            continue
        break


def _cpu_s(pid: int) -> float:
    """Return the CPU time of a process; zero if the kernel does not report it."""
    try:
        return int(read_proc(pid, "schedstat").split()[0]) / 1e9
    except FileNotFoundError:
        return 0.0


def _used(child: Spare) -> str:
    """Kill a child that waits to be killed; return its usage, empty if it is dead.

    A dying process frees its memory before it closes its pipes, which takes longer than
    many programs do: nobody waits for that, unless the kernel reports no time before.
    """
    cpu_s = _cpu_s(child.pid) - child.spent_s
    peak = read_proc(child.pid, "status").partition(b"VmHWM:")[2].split()
    if not peak:
        return ""
    _kill(child.pid)
    if not cpu_s:
        return _ended(child, waits=True)
    return _usage(0, cpu_s, int(peak[0]))


def _ended(child: Spare, *, waits: bool = False) -> str:
    """Kill a child, if that is still needed, and return how it ended.

    For a child that *waits* to be killed, this counts as a good end.
    """
    _kill(child.pid)
    _, status, used = os.wait4(child.pid, 0)
    _reap(wait=True)
    cpu_s = max(0.0, used.ru_utime + used.ru_stime - child.spent_s)
    code = os.waitstatus_to_exitcode(status)
    is_well = waits and code == -_SIGKILL
    return _usage(0 if is_well else code, cpu_s, used.ru_maxrss)


def _usage(status: int, cpu_s: float, max_rss_kb: int) -> str:
    return f'{{"status":{status},"cpu_s":{cpu_s},"max_rss_kb":{max_rss_kb}}}'


def _reap(*, wait: bool, spare: Spare | None = None) -> None:
    """Reap the dead, and kill all but the *spare*, such as escaped grandchildren."""
    own, kept = os.getpid(), 0 if spare is None else spare.pid
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return
        found = map(int, read_proc(own, f"task/{own}/children").split())
        left = [pid for pid in found if pid != kept]
        for pid in left:
            os.kill(pid, _SIGKILL)
        if not (wait and left):
            return
        os.waitpid(left[0], 0)
