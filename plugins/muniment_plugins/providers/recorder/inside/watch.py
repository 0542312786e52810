"""Notices what a recorded program does that bypasses the recorded libraries.

    client.tell(noticed=["connection", "127.0.0.1:11434"])
    client.tell(noticed=["child", 4711, "curl", "https://api.example/"])

Rules:

- A connection counts whatever its other end: a model may be on this machine. One that a
  recorded exchange makes does not count, nor does looking up a name.
- A socket of this machine counts if its file was there before the program: sockets
  between the program's own processes are its own affair. One without a file (an
  abstract name) counts unless the same process made it.
- A child counts until a Python says that it is recorded in its place. Commands that
  only read about the machine do not. Python tells of no child that is started by
  ``_posixsubprocess.fork_exec`` itself, as `multiprocessing` does: it is called by ours.
- Some libraries connect where Python does not see it; that they are loaded counts.
- This runs in the program's own interpreter: the standard library only, loaded late.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as in `typing`, which takes as long as all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from muniment_plugins.providers.recorder.inside.client import Client

__all__ = ["watch"]

_REACHING = ("socket.connect", "socket.sendto", "socket.sendmsg")
_INTERNET = (2, 10, 23, 30)
"""AF_INET, and AF_INET6 as Linux, Windows and macOS number it."""
_UNIX = 1
_ABOUT_THE_MACHINE = frozenset(
    {"arch", "getconf", "ldconfig", "lsb_release", "nproc", "sw_vers", "uname"}
)
_SYSTEM = ("/bin", "/sbin", "/usr/bin", "/usr/sbin")
_UNSEEN = frozenset(
    {
        "MySQLdb._mysql",
        "_mysql_connector",
        "confluent_kafka.cimpl",
        "curl_cffi._wrapper",
        "grpc._cython.cygrpc",
        "hf_xet",
        "oracledb.thick_impl",
        "primp.primp",
        "psycopg.pq",
        "psycopg2._psycopg",
        "pyarrow._flight",
        "pyarrow._s3fs",
        "pycurl",
        "pymssql._pymssql",
        "rnet",
        "tls_client.cffi",
        "uvloop.loop",
        "zmq.backend.cython._zmq",
    }
)
"""Modules that connect without Python's sockets."""


def watch(address: str, client: Callable[[], Client]) -> None:
    """Tell *client* of what this process does unrecorded, from here on."""
    watcher = _Watcher(address.partition("@")[2], client)
    sys.addaudithook(watcher)
    watcher.hear_of_forks()


class _Watcher:
    """The audit hook of one process and of those that it forks."""

    def __init__(self, recorder: str, client: Callable[[], Client]) -> None:
        self._recorder = recorder
        self._client = client
        self._told: set[str] = set()
        self._bound: set[bytes] = set()
        """The sockets without a file that this process made."""
        self._popen: object = None
        self._seen: dict[str, Callable[[tuple[Any, ...]], None]] = {
            **dict.fromkeys(_REACHING, self._connects),
            "socket.bind": self._binds,
            "import": self._imports,
            "os.exec": self._becomes,
            "os.posix_spawn": self._spawns,
            "os.spawn": lambda told: self._starts(told[1], told[2]),
            "os.startfile": lambda told: self._starts(told[0], [told[0]]),
            "os.system": lambda told: self._starts("/bin/sh", ["sh", "-c", told[0]]),
            "subprocess.Popen": self._opens,
        }

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        noticed = self._seen.get(event)
        if noticed is not None:
            noticed(arguments)

    def hear_of_forks(self) -> None:
        """Take the place of the function by which children start that nobody tells of."""
        try:
            import _posixsubprocess  # noqa: PLC0415 - there is none on Windows
        except ImportError:
            return
        fork_exec = _posixsubprocess.fork_exec

        def forked(command: Any, paths: Any, *rest: Any) -> int:
            known, self._popen = self._popen, None
            if command is not known:  # one that `subprocess` told of
                there = [one for one in paths if os.path.exists(one)]  # noqa: PTH110
                if there:
                    self._starts(there[0], command)
            return fork_exec(command, paths, *rest)

        _posixsubprocess.fork_exec = forked

    def _binds(self, arguments: tuple[Any, ...]) -> None:
        if int(arguments[0].family) == _UNIX and _is_abstract(arguments[1]):
            self._bound.add(os.fsencode(arguments[1]))

    def _connects(self, arguments: tuple[Any, ...]) -> None:
        family, to = int(arguments[0].family), arguments[1]
        if family not in _INTERNET and (family != _UNIX or not self._was_there(to)):
            return
        name = _spelled(to)
        wire = sys.modules.get("_muniment_wire")
        performing = wire is not None and wire.PERFORMING.get()
        if to is not None and name != self._recorder and not performing:
            self._tell("connection", name)

    def _was_there(self, path: Any) -> bool:
        """Tell whether somebody else made the socket *path*, before the program."""
        if _is_abstract(path):
            return os.fsencode(path) not in self._bound
        try:
            made = os.stat(path).st_ctime_ns  # noqa: PTH116 - may be bytes
            began = os.stat(self._recorder).st_ctime_ns  # noqa: PTH116 - cheaper
        except (OSError, TypeError, ValueError):
            return False
        return made < began

    def _imports(self, arguments: tuple[Any, ...]) -> None:
        if arguments[0] in _UNSEEN:
            self._tell("library", arguments[0].partition(".")[0])

    def _opens(self, arguments: tuple[Any, ...]) -> None:
        self._popen = arguments[1]
        self._starts(arguments[0], arguments[1], arguments[3])

    def _spawns(self, arguments: tuple[Any, ...]) -> None:
        known, self._popen = self._popen, None
        if arguments[1] is not known:  # one that `subprocess` told of
            self._starts(*arguments)

    def _becomes(self, arguments: tuple[Any, ...]) -> None:
        self._starts(*arguments, becomes=True)

    def _starts(
        self, path: Any, command: Any, env: Any = None, *, becomes: bool = False
    ) -> None:
        words = [command] if isinstance(command, (str, bytes)) else list(command)
        found = _found(os.fsdecode(path or words[0]), env)
        if found is None or _is_about_the_machine(found):
            return
        sort = "image" if becomes else "child"
        self._send(sort, os.getpid(), *(os.fsdecode(one) for one in words))

    def _tell(self, sort: str, name: str) -> None:
        if name not in self._told:
            self._told.add(name)
            self._send(sort, name)

    def _send(self, *noticed: object) -> None:
        try:
            self._client().tell(noticed=noticed)
        except ConnectionError:
            return  # the run has ended, and this process has not


def _spelled(to: Any) -> str:
    if isinstance(to, tuple):
        place: tuple[Any, ...] = to  # pyright: ignore[reportUnknownVariableType]
        host, port = str(place[0]), str(place[1])
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    name = os.fsdecode(to) if isinstance(to, bytes) else str(to)
    return f"@{name[1:]}" if _is_abstract(to) else name


def _is_abstract(to: Any) -> bool:
    """Tell whether *to* names a socket of this machine that has no file."""
    return isinstance(to, (bytes, str)) and to[:1] in (b"\0", "\0")


def _found(name: str, env: Any) -> str | None:
    """Return the path of the command *name*; None where nothing can be started."""
    if os.path.dirname(name):  # noqa: PTH120 - `pathlib` takes too long
        return name if os.path.exists(name) else None  # noqa: PTH110 - as above
    for folder in os.get_exec_path(None if env is None else dict(env)):
        path = os.path.join(os.fsdecode(folder), name)  # noqa: PTH118 - as above
        if os.path.isfile(path) and os.access(path, os.X_OK):  # noqa: PTH113
            return path
    return None


def _is_about_the_machine(path: str) -> bool:
    folder, name = os.path.split(path)
    return name in _ABOUT_THE_MACHINE and folder in _SYSTEM
