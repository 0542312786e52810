"""Programs that no language layer has read, and what each wants from the system.

    python escapes.py            {"chmod": [true, false], …}   effect without, with walls

Rules:

- An effect is looked for outside: a file, its mode, a connection, a dead process. Where
  there is none to see, it is that the call went through and the program ended well.
- Every program runs twice: in a child with limits only, where its effect must show (or
  the attempt proves nothing), and in a child behind the walls.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from muniment_plugins.capsule import Capsule, Execution, Policy
from muniment_plugins.capsule.starting import Surroundings
from muniment_plugins.capsule.validation import Validated

MODULES = ("ctypes", "os", "resource", "signal", "socket", "time")
CALL = "libc = ctypes.CDLL(None, use_errno=True)\n"
MUST = "if {0} < 0: raise OSError(ctypes.get_errno(), 'refused')\n"


def libc(call: str) -> str:
    """Return a program that makes one call of the C library, and says if it failed."""
    return CALL + MUST.format(f"libc.{call}")


ESCAPES: dict[str, str] = {
    "read a file": "fd = os.open('{secret}', os.O_RDONLY)\nprint(os.read(fd, 99))",
    "list a directory": "print(os.listdir('{place}'))",
    "read the parent's environment": (
        "fd = os.open(f'/proc/{{os.getppid()}}/environ', os.O_RDONLY)\n"
        "if not os.read(fd, 9): raise OSError"
    ),
    "create a file": "os.open('{place}/new', os.O_CREAT | os.O_WRONLY)",
    "create a file with openat2": (
        "how = (ctypes.c_uint64 * 3)(0o101, 0o600, 0)\n"
        + libc("syscall(437, -100, b'{place}/new', how, 24)")
    ),
    "create a file with creat": libc("creat(b'{place}/new', 0o600)"),
    "truncate a file": "os.truncate('{victim}', 0)",
    "remove a file": "os.unlink('{victim}')",
    "rename a file": "os.rename('{victim}', '{place}/new')",
    "link a file": "os.link('{victim}', '{place}/new')",
    "link a name": "os.symlink('{victim}', '{place}/new')",
    "make a directory": "os.mkdir('{place}/new')",
    "make a pipe": "os.mkfifo('{place}/new')",
    "change a mode": "os.chmod('{victim}', 0o777)",
    "change a time": "os.utime('{victim}', (1, 1))",
    "set an attribute": "os.setxattr('{victim}', 'user.x', b'1')",
    "connect": "socket.create_connection(('127.0.0.1', {port})).close()",
    "send a datagram": (
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"
        ".sendto(b'x', ('127.0.0.1', {datagrams}))"
    ),
    "listen": "socket.create_server(('127.0.0.1', 0))",
    "pair sockets": "socket.socketpair()",
    "fork": "if os.fork() == 0:\n    libc = ctypes.CDLL(None)\n    libc._exit(0)",
    "start a thread": (
        CALL + "thread = ctypes.c_ulong()\n"
        "if libc.pthread_create(ctypes.byref(thread), None, libc.getpid, None):\n"
        "    raise OSError('refused')\n"
        "time.sleep(0.05)"
    ),
    "execute": "os.execv('/bin/mkdir', ['mkdir', '{place}/new'])",
    "spawn": (
        "pid = os.posix_spawn('/bin/sh', ['sh', '-c', 'mkdir {place}/new'], {{}})\n"
        "os.waitpid(pid, 0)"
    ),
    "kill a process": "os.kill({pid}, 9)\ntime.sleep(0.05)",
    "kill by descriptor": libc("syscall(434, {pid}, 0)"),
    "kill a thread": libc("syscall(200, {pid}, 9)") + "time.sleep(0.05)",
    "queue a signal": (
        "info = (ctypes.c_int * 32)(9, 0, -1)\n"
        + libc("syscall(129, {pid}, 9, info)")
        + "time.sleep(0.05)"
    ),
    "own the signals of a pipe": libc("fcntl(1, 8, {pid})"),
    "trace a process": libc("ptrace(16, {pid}, 0, 0)"),
    "read another's memory": libc(
        "process_vm_readv({pid}, None, 0, None, 0, ctypes.c_long(0))"
    ),
    "make an anonymous file": libc("syscall(319, b'x', 0)"),
    "enter a namespace": libc("unshare(0x10000000)"),
    "change the root": libc("chroot(b'/')"),
    "raise a limit": (
        "now = resource.getrlimit(resource.RLIMIT_NOFILE)[0]\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (now - 1, now - 1))"
    ),
    "stop the clock": "signal.setitimer(signal.ITIMER_PROF, 0)",
    "be dumpable": libc("prctl(4, 1, 0, 0, 0)"),
    "outlive the parent": libc("prctl(1, 0, 0, 0, 0)"),
    "share memory": libc("shmget(0, 4096, 0o600)"),
    "call as x32": libc("syscall(0x40000000 | 39)"),
    "call as 32 bits": (
        "libc = ctypes.CDLL(None)\n"
        "libc.mmap.restype = ctypes.c_void_p\n"
        "at = libc.mmap(None, 4096, 7, 0x22, -1, 0)\n"
        # mov eax, 20 (getpid); int 0x80; ret
        "ctypes.memmove(at, b'\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3', 8)\n"
        "if ctypes.CFUNCTYPE(ctypes.c_int)(at)() < 0: raise OSError('refused')"
    ),
}

X86_ONLY = {
    *("call as 32 bits", "call as x32", "create a file with creat"),
    *("kill a thread", "make an anonymous file", "queue a signal"),
}
"""By number of x86-64, or by what only that has."""

NEEDS_ROOT = {"change the root", "fork", "spawn", "start a thread"}
"""What the limits alone keep from an ordinary user."""

NOT_WITHOUT = {"call as x32"}
"""What this kernel does not have: there is no effect to show without the walls."""


def without_walls(surroundings: Surroundings) -> Surroundings:
    """Return *surroundings* of a child that raises none."""
    around = {**json.loads(surroundings.text), "walls": {}}
    return replace(surroundings, text=json.dumps(around))


class Unread(Capsule):
    """A capsule that runs what it has not read, behind walls or not."""

    walls = True

    def validate(self, code: str, entrypoint: str = "fit_and_eval") -> Validated:
        """Accept anything."""
        return Validated(code, entrypoint, MODULES)

    def _surroundings(self, program: Validated) -> Surroundings:
        genuine = super()._surroundings(program)
        return genuine if self.walls else without_walls(genuine)


class Unwalled(Unread):
    """The same child with limits only."""

    walls = False


@dataclass(frozen=True)
class Stage:
    """A place with things to harm, and the means to see whether they were."""

    place: Path
    names: dict[str, object]
    listener: socket.socket
    receiver: socket.socket
    sleeper: subprocess.Popen[bytes]

    def changes(self) -> dict[str, object]:
        """Return what stands now, to compare with what stood before."""
        seen = {
            path.name: (path.lstat().st_mode, path.lstat().st_mtime, path.read_text())
            for path in sorted(self.place.iterdir())
            if path.is_file()
        }
        names = sorted(path.name for path in self.place.iterdir())
        victim = self.place / "victim"
        marks = os.listxattr(victim) if victim.exists() else []
        dead = self.sleeper.poll()
        return {"files": seen, "names": names, "marks": marks, "dead": dead}


def run(body: str, capsule: Capsule) -> Execution:
    """Run a function with this body in *capsule*."""
    heads = f"import {', '.join(MODULES)}\n"
    indented = body.rstrip("\n").replace("\n", "\n    ")
    return capsule.run(
        f"{heads}\ndef fit_and_eval(data):\n    {indented}\n    return {{}}", None
    )


def has_effect(name: str, kind: type[Unread]) -> bool:
    """Tell whether the program *name* gets what it wants, in a capsule of *kind*."""
    policy = Policy(allowed_imports=MODULES, allow_dangerous=True, time_s=5)
    with stage() as here:
        before = here.changes()
        body = ESCAPES[name].format(**here.names)
        execution = run(body, kind(policy))
        changed = here.changes() != before
        heard = any(map(_has_news, (here.listener, here.receiver)))
        return changed or heard or execution.status == "ok"


def _has_news(heard: socket.socket) -> bool:
    heard.setblocking(False)
    try:
        if heard.type == socket.SOCK_STREAM:
            heard.accept()[0].close()
        else:
            heard.recv(9)
    except BlockingIOError:
        return False
    return True


@contextmanager
def stage() -> Iterator[Stage]:
    """Set a stage, and clear it."""
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for name in ("secret", "victim"):
            (place / name).write_text(name)
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        receiver = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        receiver.bind(("127.0.0.1", 0))
        sleeper = stack.enter_context(subprocess.Popen(["/bin/sleep", "60"]))
        stack.callback(sleeper.kill)
        names: dict[str, object] = {
            "datagrams": receiver.getsockname()[1],
            "pid": sleeper.pid,
            "place": place,
            "port": listener.getsockname()[1],
            "secret": place / "secret",
            "victim": place / "victim",
        }
        yield Stage(place, names, listener, receiver, sleeper)


def tried() -> list[str]:
    """Return the names of what can be tried on this machine."""
    is_x86 = os.uname().machine == "x86_64"
    return [name for name in ESCAPES if is_x86 or name not in X86_ONLY]


def _report() -> dict[str, list[bool]]:
    kinds: tuple[type[Unread], ...] = (Unwalled, Unread)
    return {name: [has_effect(name, kind) for kind in kinds] for name in tried()}


if __name__ == "__main__":
    from muniment_plugins.capsule.machine import machine

    found = {"level": machine().level, "effects": _report()}
    sys.stdout.write(json.dumps(found))
