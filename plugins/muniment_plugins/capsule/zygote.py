"""The warm worker: loads packages, forks a child per execution, reaps it.

    <- {"paths": […], "walls": {…}}                      once
    <- {"imports": ["numpy"]}  and four descriptors      -> {"pid": 4711}
    <- {"end": true}                                     -> {"status": 0, "cpu_s": …}

Rules:

- It never sees a program or its data: its child reads them from a pipe.
- It forks as a process of one thread or not at all: a child would inherit the locks of
  threads that it does not have.
- What its children have in common is done here, once: modules are loaded, views made,
  the ruleset of files built. What holds a child, the child puts on itself.
- The garbage collector does not run here, so that children share what was loaded.
- It ends when the host does, seen by the end of the socket, or when nobody asked for
  anything for `IDLE_S`; a child that outlives it is killed by the system.

`warm` is the other side. Runs in the worker: only small modules at the top.
"""

from __future__ import annotations

import gc
import os

from muniment_plugins.capsule.program import Prepared, failure, serve
from muniment_plugins.capsule.protocol import parse_json
from muniment_plugins.capsule.warming import warm_up

TYPE_CHECKING = False  # typing itself costs more than a bare interpreter's start
if TYPE_CHECKING:
    from typing import Any, NoReturn

__all__ = ["IDLE_S", "serve_forks"]

IDLE_S = 300
CONTROL = 0
_LONGEST = 1 << 18
_SIGKILL = 9
_SET_CHILD_SUBREAPER = 36
_DESCRIPTORS = 4
_INT = 4


def serve_forks() -> NoReturn:
    """Serve until the host is gone or has no more use for this worker."""
    gc.disable()
    host, own = _Host(), os.getpid()
    prepared = Prepared(host.receive()[0])
    if prepared.system is not None:
        # What a child leaves behind comes to this process, to be killed and reaped.
        prepared.system.call("prctl", _SET_CHILD_SUBREAPER, 1)
    while True:
        host.socket.settimeout(IDLE_S)
        order, descriptors = host.receive()
        host.socket.settimeout(None)
        problem = _load(prepared, order["imports"])
        if problem:
            host.send(problem)
            os._exit(0)
        pid = os.fork()
        if pid == 0:
            _become_child(prepared, descriptors, own)
        for descriptor in descriptors:
            os.close(descriptor)
        host.send(f'{{"pid":{pid}}}')
        host.await_end(pid)
        host.send(_ended(pid))


class _Host:
    """The socket to the host, by the C module that ``socket`` is a shell around."""

    def __init__(self) -> None:
        self._sockets: Any = __import__("_socket")
        self.socket = self._sockets.socket(fileno=CONTROL)
        self._room = self._sockets.CMSG_SPACE(_DESCRIPTORS * _INT)

    def receive(self) -> tuple[Any, list[int]]:
        """Return the next message; end with the host, or when it stays away."""
        try:
            text, extra, *_ = self.socket.recvmsg(_LONGEST, self._room)
        except (OSError, MemoryError):  # a timeout is an OSError
            os._exit(0)
        if not text:
            os._exit(0)
        descriptors = [
            int.from_bytes(data[at : at + _INT], "little")
            for _, _, data in extra
            for at in range(0, len(data), _INT)
        ]
        return parse_json(text.decode()), descriptors

    def send(self, text: str) -> None:
        """Answer; without a host there is nothing more to do."""
        try:
            self.socket.send(text.encode())
        except OSError:
            os._exit(0)

    def await_end(self, pid: int) -> None:
        """Wait until the host wants the child ended; end it first if it is gone."""
        try:
            text = self.socket.recv(_LONGEST)
        except OSError:
            text = b""
        if not text:
            _ended(pid)
            os._exit(0)


def _load(prepared: Prepared, imports: list[str]) -> str:
    """Load what is not loaded yet; return why there can be no child, or nothing."""
    try:
        is_changed = prepared.load(imports) or prepared.readied is None
    except Exception as error:  # noqa: BLE001 - a package may raise anything on import
        return failure("prepare", error)
    threads = len(os.listdir("/proc/self/task"))  # noqa: PTH208 - pathlib is slow
    if threads > 1:
        return f'{{"threads":{threads}}}'
    if is_changed:
        warm_up(imports)
        prepared.ready()
        gc.collect()
        gc.freeze()
    return ""


def _become_child(prepared: Prepared, descriptors: list[int], parent: int) -> NoReturn:
    """Take the pipes, let everything else go, and serve one execution."""
    requests, output, complaints, answers = descriptors
    os.setsid()
    for stream, descriptor in enumerate((requests, output, complaints)):
        os.dup2(descriptor, stream)
    kept = {0, 1, 2, answers, *prepared.descriptors()}
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - pathlib is slow
        if int(name) not in kept:
            _close(int(name))
    gc.enable()
    serve(prepared, answers, parent)


def _close(descriptor: int) -> None:
    try:
        os.close(descriptor)
    except OSError:
        return  # the one that read the list of them


def _ended(pid: int) -> str:
    """Kill the child's group, reap it and all that it left; return how it ended."""
    for kill in (os.killpg, os.kill):  # the second, if it does not lead a group yet
        try:
            kill(pid, _SIGKILL)
            break
        except ProcessLookupError:
            continue
    _, status, used = os.wait4(pid, 0)
    _end_orphans()
    cpu_s = used.ru_utime + used.ru_stime
    code = os.waitstatus_to_exitcode(status)
    return f'{{"status":{code},"cpu_s":{cpu_s},"max_rss_kb":{used.ru_maxrss}}}'


def _end_orphans() -> None:
    """Kill what a child that was no prisoner left in groups of its own."""
    own = os.getpid()
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return
        with open(f"/proc/{own}/task/{own}/children") as file:  # noqa: PTH123 - as above
            for orphan in file.read().split():
                os.kill(int(orphan), _SIGKILL)
        os.waitpid(-1, 0)
