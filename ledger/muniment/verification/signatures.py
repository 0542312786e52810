"""Checking every signature, on every core.

    parent → worker   <seq u64> <length u32> <two sizes u8> <key> <signature>
                      <payload> …   (key and signature in fields of 65 and 72 bytes)
    worker → parent   "done" <checked u64> <bad u32> <seq u64> …

Rules:

- The parent sends the very bytes that its own pass judges, so a worker opens no file
  and cannot see another version of it.
- A worker is a fresh interpreter started with ``posix_spawn``; the calling program
  needs no ``__main__`` guard. Small ledgers, frozen programs and systems without
  ``posix_spawn`` verify in the process itself.
- A worker that dies, or answers less than it was asked, proves nothing: the error has
  the worker's own output, and the caller checks the rest in the process itself.
"""

from __future__ import annotations

import os
import signal
import struct
import sys
from pathlib import Path
from typing import Protocol

from muniment.errors import KeyRefused, WorkerDied
from muniment.formats.dsse import pae
from muniment.keys.ed25519 import PublicKey

__all__ = [
    "InProcess",
    "SignatureCheck",
    "Workers",
    "signature_check",
    "work",
]

_MANY = 4000
_BATCH_BYTES = 1 << 16
_HEAD = struct.Struct("<QIBB65s72s")
_DONE = struct.Struct("<4sQI")
_REPORTED = 1000
_START = """
import sys
try:
    sys.path[:] = {path!r}
    from {module} import work
    work()
except BaseException as error:
    sys.stdout.buffer.write(b"died" + repr(error).encode())
    raise
"""
_LEAST = 3
"""The first descriptor after the standard ones, which a daemon may have closed."""


class SignatureCheck(Protocol):
    """Takes signatures to check, and says at the end which were bad."""

    def add(self, seq: int, key: bytes, signature: bytes, payload: bytes) -> None:
        """Check this one now or later."""
        ...

    def finish(self) -> tuple[int, list[int]]:
        """Return how many were checked, and the seqs of the first bad ones."""
        ...

    def close(self) -> None:
        """Stop whatever is still running; harmless after `finish`."""
        ...


def signature_check(events: int) -> SignatureCheck:
    """Return a check by workers for many *events*, in this process for few."""
    cores = os.cpu_count() or 1
    able = hasattr(os, "posix_spawn") and not getattr(sys, "frozen", False)
    if events <= _MANY or cores == 1 or not able or not sys.executable:
        return InProcess()
    return Workers(cores)


class InProcess:
    """Checks each signature at once."""

    __slots__ = ("_bad", "_checked", "_keys")

    def __init__(self) -> None:
        self._keys: dict[bytes, PublicKey | None] = {}
        self._bad: list[int] = []
        self._checked = 0

    def add(self, seq: int, key: bytes, signature: bytes, payload: bytes) -> None:
        """Check the signature over the payload's pre-authentication encoding."""
        if key not in self._keys:
            try:
                self._keys[key] = PublicKey(key)
            except KeyRefused:
                self._keys[key] = None
        public = self._keys[key]
        self._checked += 1
        good = public is not None and public.verify(signature, pae(payload))
        if not good and len(self._bad) < _REPORTED:
            self._bad.append(seq)

    def finish(self) -> tuple[int, list[int]]:
        """Return how many were checked, and the seqs of the first bad ones."""
        return self._checked, self._bad

    def close(self) -> None:
        """Do nothing: nothing runs."""


class _Worker:
    """One interpreter, a pipe to it and a pipe from it."""

    __slots__ = ("pid", "reader", "sent", "writer")

    def __init__(self) -> None:
        package = Path(__file__).resolve().parents[2]
        code = _START.format(path=[str(package), *sys.path], module=__name__)
        theirs, self.writer = _pipe()
        self.reader, their_writer = _pipe()
        self.sent = 0
        try:
            self.pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-I", "-S", "-c", code],
                dict(os.environ),
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, theirs, 0),
                    (os.POSIX_SPAWN_DUP2, their_writer, 1),
                    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                ],
            )
        except OSError:
            os.close(self.writer)
            os.close(self.reader)
            raise
        finally:
            os.close(theirs)
            os.close(their_writer)

    def send(self, frames: bytes, count: int) -> None:
        view = memoryview(frames)
        while view:
            view = view[os.write(self.writer, view) :]
        self.sent += count

    def result(self) -> list[int]:
        """Return the bad seqs, after the worker has seen everything."""
        answer = b"".join(iter(lambda: os.read(self.reader, 1 << 16), b""))
        if len(answer) >= _DONE.size and answer.startswith(b"done"):
            _, checked, bad = _DONE.unpack_from(answer)
            seqs = answer[_DONE.size :]
            if checked == self.sent and len(seqs) == 8 * bad:
                return list(struct.unpack(f"<{bad}Q", seqs))
        raise _died(answer[4:].decode("utf-8", "replace") or "it said nothing")

    def hang_up(self) -> None:
        """Close the pipe to the worker, which ends once it has read everything."""
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1

    def end(self) -> None:
        """Stop the worker, whatever it is doing, and wait for it."""
        self.hang_up()
        if self.reader >= 0:
            os.close(self.reader)
            self.reader = -1
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


class Workers:
    """Spreads the signatures over one interpreter per core."""

    __slots__ = ("_bytes", "_frames", "_next", "_workers")

    def __init__(self, number: int) -> None:
        """Start *number* interpreters."""
        self._workers: list[_Worker] = []
        self._frames: list[bytes] = []
        self._bytes = 0
        self._next = 0
        try:
            self._workers.extend(_Worker() for _ in range(number))
        except OSError as error:
            self.close()
            raise _died(str(error)) from error

    def add(self, seq: int, key: bytes, signature: bytes, payload: bytes) -> None:
        """Queue one signature; a full queue goes to the next worker."""
        self._frames.append(
            _HEAD.pack(seq, len(payload), len(key), len(signature), key, signature)
        )
        self._frames.append(payload)
        self._bytes += len(payload)
        if self._bytes >= _BATCH_BYTES:
            self._flush()

    def _flush(self) -> None:
        worker = self._workers[self._next]
        self._next = (self._next + 1) % len(self._workers)
        try:
            worker.send(b"".join(self._frames), len(self._frames) // 2)
        except OSError:
            worker.hang_up()
            worker.result()  # raises the reason
            raise
        self._frames.clear()
        self._bytes = 0

    def finish(self) -> tuple[int, list[int]]:
        """Wait for all workers; return how many were checked, and the bad seqs."""
        if self._frames:
            self._flush()
        for worker in self._workers:
            worker.hang_up()
        bad = sorted(seq for worker in self._workers for seq in worker.result())
        return sum(worker.sent for worker in self._workers), bad

    def close(self) -> None:
        """End every worker."""
        for worker in self._workers:
            worker.end()


def work() -> None:
    """Run as a worker: read frames from standard input, write the verdict to output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    check, stream = InProcess(), sys.stdin.buffer
    while head := stream.read(_HEAD.size):
        seq, length, known, signed, key, signature = _HEAD.unpack(head)
        payload = stream.read(length)
        if len(payload) != length:
            return
        check.add(seq, key[:known], signature[:signed], payload)
    checked, bad = check.finish()
    answer = _DONE.pack(b"done", checked, len(bad)) + struct.pack(f"<{len(bad)}Q", *bad)
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()


def _pipe() -> tuple[int, int]:
    """Return a pipe whose ends are not standard descriptors."""
    ends = os.pipe()
    if min(ends) >= _LEAST:
        return ends
    import fcntl  # noqa: PLC0415 - only POSIX has it, as with posix_spawn

    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _LEAST) for end in ends]
    for end in ends:
        os.close(end)
    return moved[0], moved[1]


def _died(why: str) -> WorkerDied:
    return WorkerDied(
        f"a process that checks signatures died: {why[:200]}",
        rule="verify/worker",
        remedy="verify again, with more memory or less beside it",
    )
