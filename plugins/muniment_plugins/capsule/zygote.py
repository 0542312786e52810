"""The warm worker: loads packages, forks a child per execution, reaps it.

    <- {"paths": […], "walls": {…}}                      once
    <- {"imports": ["numpy"]}  and four descriptors      -> {"pid": 4711}
    <- {"answered": true}                                -> {"status": 0, "cpu_s": …}

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

__all__ = ["IDLE_S", "REAP_S", "serve_forks"]

IDLE_S = 300
REAP_S = 0.02
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
    prepared = Prepared(host.receive()[0], is_shared=True)
    if prepared.system is not None:
        # What a child leaves behind comes to this process, to be killed and reaped.
        prepared.system.call("prctl", _SET_CHILD_SUBREAPER, 1)
    while True:
        order, descriptors = host.receive()
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
        host.send((host.await_end(pid) and _used(pid)) or _ended(pid))


class _Host:
    """The socket to the host, by the C module that ``socket`` is a shell around."""

    def __init__(self) -> None:
        self._sockets: Any = __import__("_socket")
        self.socket = self._sockets.socket(fileno=CONTROL)
        self._room = self._sockets.CMSG_SPACE(_DESCRIPTORS * _INT)

    def receive(self) -> tuple[Any, list[int]]:
        """Return the next message; end with the host, or when it stays away.

        What died last is reaped while nobody waits for anything else.
        """
        try:
            self.socket.settimeout(REAP_S)
            try:
                text, extra, *_ = self.socket.recvmsg(_LONGEST, self._room)
                _reap(wait=False)
            except TimeoutError:
                _reap(wait=True)
                self.socket.settimeout(IDLE_S)
                text, extra, *_ = self.socket.recvmsg(_LONGEST, self._room)
            self.socket.settimeout(None)
        except OSError:
            _leave()
        if not text:
            _leave()
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
            _leave()

    def await_end(self, pid: int) -> bool:
        """Wait until the host wants the child ended; tell whether it had an answer.

        Without a host, the child ends first.
        """
        try:
            text = self.socket.recv(_LONGEST)
        except OSError:
            text = b""
        if not text:
            _kill(pid)
            _leave()
        answered: bool = parse_json(text.decode())["answered"]
        return answered


def _leave() -> NoReturn:
    """End, and leave nothing to whoever gets the children of the dead."""
    _reap(wait=True)
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
        warm_up(prepared.seeds, imports)
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


def _kill(pid: int) -> None:
    for kill in (os.killpg, os.kill):  # the second, if it does not lead a group yet
        try:
            kill(pid, _SIGKILL)
        except ProcessLookupError:
            continue
        break


def _used(pid: int) -> str:
    """Kill a child that has answered; return what it used by now, if that is known.

    To take its memory apart takes longer than many a program: nobody waits for that.
    """
    try:
        with open(f"/proc/{pid}/schedstat", "rb") as file:  # noqa: PTH123 - pathlib is slow
            nanoseconds = int(file.read().split()[0])
        with open(f"/proc/{pid}/status", "rb") as file:  # noqa: PTH123 - the same
            kilobytes = int(file.read().partition(b"VmHWM:")[2].split()[0])
    except (OSError, IndexError):  # a kernel without these, or it died by itself
        return ""
    _kill(pid)
    return _usage(0, nanoseconds / 1e9, kilobytes)


def _ended(pid: int) -> str:
    """Kill a child, if that is still needed, and return how it ended."""
    _kill(pid)
    _, status, used = os.wait4(pid, 0)
    _reap(wait=True)
    cpu_s = used.ru_utime + used.ru_stime
    return _usage(os.waitstatus_to_exitcode(status), cpu_s, used.ru_maxrss)


def _usage(status: int, cpu_s: float, max_rss_kb: int) -> str:
    return f'{{"status":{status},"cpu_s":{cpu_s},"max_rss_kb":{max_rss_kb}}}'


def _reap(*, wait: bool) -> None:
    """Reap what is dead, and kill what a child without walls may have left."""
    own = os.getpid()
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0]:
                continue
            with open(f"/proc/{own}/task/{own}/children") as file:  # noqa: PTH123 - as above
                for left in file.read().split():
                    os.kill(int(left), _SIGKILL)
            if not wait:
                return
            os.waitpid(-1, 0)
        except ChildProcessError:
            return
