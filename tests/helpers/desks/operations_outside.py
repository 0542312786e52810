"""Operations on processes, the network and the machine."""

from __future__ import annotations

import asyncio
import ctypes
import multiprocessing
import os
import pty
import resource
import signal
import socket
import subprocess
import threading
import urllib.request
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import shared_memory
from pathlib import Path

from operation_world import LIBC, World, c, nothing, op, simple, written

__all__: list[str] = []

# -- processes --------------------------------------------------------------------------


def _reap(pid: int) -> None:
    if pid == 0:
        os._exit(0)
    if pid < 0:
        raise OSError(ctypes.get_errno(), "no process")
    os.waitpid(pid, 0)


def _zero(status: int) -> None:
    if status:
        raise OSError(status, "it did not run")


@op("multiprocessing, fork")
def _(_w: World) -> None:
    one = multiprocessing.get_context("fork").Process(target=nothing)
    one.start()
    one.join()
    _zero(one.exitcode or 0)


@op("multiprocessing, spawn")
def _(_w: World) -> None:
    one = multiprocessing.get_context("spawn").Process(target=nothing)
    one.start()
    one.join()
    _zero(one.exitcode or 0)


@op("ProcessPoolExecutor")
def _(_w: World) -> None:
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        pool.submit(nothing).result()


@op("asyncio, a subprocess")
def _(_w: World) -> None:
    async def run() -> None:
        one = await asyncio.create_subprocess_exec("true")
        _zero(await one.wait())

    asyncio.run(run())


simple("subprocess.run", "", lambda _: subprocess.run(["true"], check=True))
simple("os.system", "", lambda _: _zero(os.system("true")))  # noqa: S605 - by its name
simple("os.popen", "", lambda _: _zero(os.popen("true").close() or 0))  # noqa: S605 - the same
simple("os.fork", "", lambda _: _reap(os.fork()))
simple("os.posix_spawn", "", lambda _: _reap(os.posix_spawn("/bin/true", ["true"], {})))
simple("os.spawnv", "", lambda _: _zero(os.spawnv(os.P_WAIT, "/bin/true", ["true"])))  # noqa: S606 - the same
simple("os.forkpty", "", lambda _: _reap(os.forkpty()[0]))
simple("pty.fork", "", lambda _: _reap(pty.fork()[0]))
simple("ctypes, fork", "", lambda _: _reap(LIBC.fork()))
simple("ctypes, system", "", lambda _: _zero(LIBC.system(b"true")))

# -- the network ------------------------------------------------------------------------


def _connect(w: World) -> None:
    socket.create_connection(("127.0.0.1", w.port)).close()


def _datagram(w: World) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as one:
        one.sendto(b"x", ("127.0.0.1", w.port))


def _listen(_w: World) -> None:
    with socket.create_server(("127.0.0.1", 0)):
        pass


def _unix(w: World) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(str(w.place / "u"))


def _abstract(w: World) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(f"\0{w.port}-muniment-test")


def _unix_datagram(w: World) -> None:
    left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with left, right:
        left.sendto(b"x", str(w.place / "d"))


def _bind_unix(w: World) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(w.fresh()))


def _ask_kernel(_w: World) -> None:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as one:
        one.bind((0, 0))


def _tcp_by_c(w: World) -> None:
    made = LIBC.socket(2, 1, 0)
    c(made)
    address = (2).to_bytes(2, "little") + w.port.to_bytes(2, "big") + b"\x7f\0\0\1"
    c(LIBC.connect(made, address + bytes(8), 16))


async def _stream(w: World) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", w.port)
    writer.close()


simple("socket, connect", "", _connect)
simple("socket, a datagram", "", _datagram)
simple("socket, listen", "", _listen)
simple("a UNIX socket by its path", "", _unix)
simple("an abstract UNIX socket", "", _abstract)
simple("a UNIX datagram from a pair", "", _unix_datagram)
simple("bind a UNIX socket", "", _bind_unix)
simple("a netlink socket", "", _ask_kernel)
simple("ctypes, connect", "", _tcp_by_c)
simple("asyncio.open_connection", "", lambda w: asyncio.run(_stream(w)))
simple("socket.getaddrinfo", "", lambda _: socket.getaddrinfo("127.0.0.1", 80))
simple("socket.gethostbyname", "", lambda _: socket.gethostbyname("127.0.0.1"))
simple(
    "urllib.request",
    "",
    lambda w: urllib.request.urlopen(f"http://127.0.0.1:{w.port}/").close(),
)


@op("send by a socket opened before", "before")
def _(w: World) -> None:
    w.before("socket").sendall(b"x")  # type: ignore[attr-defined]


@op("write in a thread that was there", "before")
def _(w: World) -> None:
    w.before("pool").submit(w.fresh().touch).result()  # type: ignore[attr-defined]
    written(w.fresh())


# -- other processes, and the machine ----------------------------------------------------

simple("os.kill", "", lambda _: os.kill(os.getppid(), 0))
simple("os.killpg", "", lambda _: os.killpg(os.getpgid(os.getppid()), 0))
simple("ctypes, kill", "", lambda _: c(LIBC.kill(os.getppid(), 0)))
simple(
    "signal.pthread_kill",
    "",
    lambda _: signal.pthread_kill(threading.get_ident(), 0),
)
simple(
    "signal.pidfd_send_signal",
    "",
    lambda _: signal.pidfd_send_signal(os.pidfd_open(os.getppid()), 0),
)
simple(
    "resource.prlimit of another",
    "",
    lambda _: resource.prlimit(os.getppid(), resource.RLIMIT_CORE, (0, 0)),
)
simple("os.setpriority", "", lambda _: os.setpriority(os.PRIO_PROCESS, 0, 1))
simple(
    "os.sched_setaffinity of another",
    "",
    lambda _: os.sched_setaffinity(os.getppid(), os.sched_getaffinity(0)),
)
simple("os.memfd_create", "", lambda _: os.close(os.memfd_create("x")))
simple("POSIX shared memory", "", lambda _: _shared())
simple("SysV shared memory", "", lambda _: c(LIBC.shmget(0, 64, 0o1600)))
simple("/proc/self/mem", "", lambda _: Path("/proc/self/mem").open("r+b").close())
simple(
    "the parent's memory",
    "",
    lambda _: Path(f"/proc/{os.getppid()}/mem").open("rb").close(),
)
simple("os.chdir", "folder", lambda w: os.chdir(w.kept()))


def _shared() -> None:
    one = shared_memory.SharedMemory(create=True, size=8)
    one.close()
    one.unlink()
