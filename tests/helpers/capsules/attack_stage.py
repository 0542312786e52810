"""A place with things to harm, and the means to see from outside whether they were.

    with Theatre() as theatre, theatre.trial() as trial:
        …                          a program runs, and knows `trial.data`
        trial.effects(seen)        {"read", "write", …}

Rules: every secret is a number that exists nowhere else; whoever tells it has read it.
A stage's files are fresh for every trial; listeners, environment and the process that
can be killed are those of the theatre, which starts another one when it has to.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

__all__ = ["BOUND", "Seen", "Theatre", "Trial"]

BOUND = 4096
"""Bytes of output that a capsule is to keep here."""

MOST_RESULT = 1 << 20
MUCH_KB = 190 * 1024
_CRASHES = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL}


@dataclass(frozen=True)
class Seen:
    """What the host got back from one program."""

    status: str
    text: str
    metrics: str
    stdout: str
    signal: int = 0
    max_rss_kb: int = 0
    contained: bool = True
    """Whether it ran in a capsule, which may count a death as a verdict."""


def _secret() -> str:
    return str(secrets.randbelow(9 * 10**14) + 10**14)


class Theatre:
    """What all trials share."""

    def __enter__(self) -> Self:
        """Open the doors."""
        self.stack = contextlib.ExitStack()
        self.outer = _secret()
        """Is in the environment of the host, and of the process beside it."""
        self.inner = _secret()
        """Is in the environment that the policy gives the program itself."""
        self.place = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.place.chmod(0o755)
        self.heard: list[socket.socket] = [
            self._listen(socket.AF_INET, ("127.0.0.1", 0)),
            self._listen(socket.AF_UNIX, str(self.place / "socket")),
            self._listen(socket.AF_UNIX, f"\0muniment-{self.outer}"),
            self._receive(socket.AF_INET, ("127.0.0.1", 0)),
        ]
        self.disturbed = 0
        self.sleeper = self._sleep()
        self.heirloom = self._leave_open()
        os.environ["STAGE_SECRET"] = self.outer
        self.stack.callback(os.environ.pop, "STAGE_SECRET", None)
        with contextlib.suppress(ValueError):  # not the main thread
            before = signal.signal(signal.SIGUSR2, self._disturb)
            self.stack.callback(signal.signal, signal.SIGUSR2, before)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close them."""
        self.stack.__exit__(kind, error, trace)
        self.sleeper.kill()
        self.sleeper.wait()

    def _disturb(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.disturbed += 1

    def _listen(self, family: int, address: Any) -> socket.socket:
        heard = self.stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
        heard.bind(address)
        heard.listen(8)
        heard.setblocking(False)
        return heard

    def _receive(self, family: int, address: Any) -> socket.socket:
        heard = self.stack.enter_context(socket.socket(family, socket.SOCK_DGRAM))
        heard.bind(address)
        heard.setblocking(False)
        return heard

    def _leave_open(self) -> int:
        """Return a descriptor that careless children inherit."""
        (self.place / "heirloom").write_text(self.outer)
        left = os.open(self.place / "heirloom", os.O_RDONLY)
        self.stack.callback(os.close, left)
        os.set_inheritable(left, True)
        return left

    def _sleep(self) -> subprocess.Popen[bytes]:
        environment = {"STAGE_SECRET": self.outer}
        return subprocess.Popen(["/bin/sleep", "600"], env=environment)

    @contextlib.contextmanager
    def trial(self) -> Iterator[Trial]:
        """Set a stage, and clear it."""
        scratch = tempfile.TemporaryDirectory(
            dir=self.place, ignore_cleanup_errors=True
        )
        with scratch as place:
            if self.sleeper.poll() is not None or _state(self.sleeper.pid) != self.rest:
                self.sleeper.kill()
                self.sleeper.wait()
                self.sleeper = self._sleep()
            yield Trial(self, Path(place))

    @property
    def rest(self) -> list[str]:
        """How the process beside is when nobody disturbs it."""
        return _state(os.getpid(), asleep=True)

    def news(self) -> str | None:
        """Return what the listeners heard since they were last asked."""
        heard = [_news(one) for one in self.heard]
        words = [one for one in heard if one is not None]
        return "".join(words) if words else None


def _news(heard: socket.socket) -> str | None:
    try:
        if heard.type == socket.SOCK_DGRAM:
            return heard.recv(4096).decode(errors="replace")
        guest, _ = heard.accept()
    except BlockingIOError:
        return None
    with guest:
        guest.setblocking(False)
        with contextlib.suppress(OSError):
            return guest.recv(4096).decode(errors="replace")
    return ""


def _state(pid: int, *, asleep: bool = False) -> list[str]:
    """Return what others could change in a process: its state, priority, limits."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        limits = Path(f"/proc/{pid}/limits").read_text()
        score = Path(f"/proc/{pid}/oom_score_adj").read_text()
        affinity = os.sched_getaffinity(pid)
    except OSError:
        return ["gone"]
    state = "S" if asleep or fields[0] in "DRS" else fields[0]
    return [state, fields[16], limits, score, str(sorted(affinity))]


class Trial:
    """One stage: files to harm, and what stood there before."""

    def __init__(self, theatre: Theatre, place: Path) -> None:
        self.theatre, self.place = theatre, place
        self.secret, self.size = _secret(), secrets.randbelow(10**7) + 10**7
        place.chmod(0o777)
        (place / "secret").write_text(f"{self.secret}\n")
        (place / "secret.npy").write_bytes(_npy(int(self.secret)))
        (place / "victim").write_text("victim\n")
        (place / "module.py").write_text(f"secret = {self.secret}\n")
        with (place / "sized").open("wb") as sized:
            sized.truncate(self.size)
        self.began = time.monotonic()
        theatre.news()
        theatre.disturbed = 0
        self.before = self.changes()

    @property
    def data(self) -> dict[str, object]:
        """What the stage offers to a program."""
        stream, unix, _, datagrams = self.theatre.heard
        return {
            "abstract": f"muniment-{self.theatre.outer}",
            "datagrams": datagrams.getsockname()[1],
            "host": os.getpid(),
            "module": str(self.place / "module.py"),
            "nice": os.nice(0),
            "npy": str(self.place / "secret.npy"),
            "pid": self.theatre.sleeper.pid,
            "place": str(self.place),
            "port": stream.getsockname()[1],
            "secret": str(self.place / "secret"),
            "sized": str(self.place / "sized"),
            "socket": unix.getsockname(),
            "victim": str(self.place / "victim"),
        }

    def changes(self) -> list[object]:
        """Return what stands now, to compare with what stood before."""
        if not self.place.is_dir():
            return ["gone"]
        found: list[object] = [self.place.stat().st_mode]
        for path in sorted(self.place.rglob("*")):
            status = path.lstat()
            facts = (path.name, status.st_mode, status.st_mtime_ns, status.st_size)
            marks = os.listxattr(path, follow_symlinks=False)
            found.append((*facts, status.st_uid, status.st_nlink, marks))
        return found

    def effects(self, seen: Seen, wants: str) -> set[str]:
        """Return which of the kinds of effects show."""
        news = self.theatre.news()
        told = f"{seen.text}\n{news or ''}"
        process = _state(self.theatre.sleeper.pid)
        happened = {
            wants: _is_had(wants, seen),
            # What is looked for outside counts by what is found there.
            "environment": self.theatre.outer in told,
            "inside": self.theatre.inner in told,
            "metadata": str(self.size) in told,
            "network": news is not None,
            "read": self.secret in told,
            "signal": self.theatre.disturbed > 0 or process != self.theatre.rest,
            "write": self.changes() != self.before,
        }
        return {kind for kind, is_so in happened.items() if is_so}


def _is_had(wants: str, seen: Seen) -> bool:
    """Tell whether a program got what shows in its own end only."""
    done = seen.status == "ok"
    return {
        "call": done and "'through'" in seen.metrics,
        "crash": done if seen.contained else seen.signal in _CRASHES,
        "forged": done and _is_forged(seen.metrics),
        "leak": done and "'left'" in seen.metrics,
        "memory": done and (seen.contained or seen.max_rss_kb > MUCH_KB),
        "output": len(seen.stdout) > BOUND + 1 or len(seen.metrics) > 2 * MOST_RESULT,
        "time": done if seen.contained else seen.status == "timeout",
    }.get(wants, False)


def _is_forged(metrics: str) -> bool:
    return any(word in metrics for word in ("'forged'", "nan", "inf"))


def _npy(number: int) -> bytes:
    head = b"{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }"
    head = head.ljust(117) + b"\n"
    size = len(head).to_bytes(2, "little")
    return b"\x93NUMPY\x01\x00" + size + head + number.to_bytes(8, "little")
