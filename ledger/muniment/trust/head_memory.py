"""The head memory: the last size and head hash of a ledger, kept outside it.

Two slots of 64 bytes, written in turn, big-endian:

     0  "muniment"            8 bytes
     8  counter               the slot with the higher one counts
    16  size                  events in the ledger
    24  hash                  RFC 6962 leaf hash of event size - 1
    56  checksum              the first 8 bytes of SHA-256 over the 56 before it

Rules:

- It only moves forward: a smaller size is ignored, another hash at the same size is a
  fork and raises.
- The slot that does not count is overwritten, in one write. A write that was cut off
  fails its checksum, and the other slot still counts.
- 64 zero bytes, or none, are a slot that was never written. If neither slot counts, the
  file is damaged; that never means "nothing known".
- Every access holds an advisory lock on the file. Only `sync` syncs, so a power cut may
  leave an older head, but a killed process does not.

Specification: ``docs/spec/trust-home.md``.
"""

from __future__ import annotations

import errno
import hashlib
import os
import struct
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from muniment.errors import CannotTellError, UsageError, WrongError
from muniment.files.folder import open_file

__all__ = ["Head", "HeadMemory", "lock_file", "unlock_file"]

_SLOT = 64
_FILE = 2 * _SLOT
_BODY = struct.Struct(">8sQQ32s")
_MAGIC = b"muniment"
_HASH = 32

_pack = _BODY.pack
_sha256 = hashlib.sha256

if sys.platform == "win32":  # pragma: no cover - the same by other calls
    import msvcrt

    def lock_file(fd: int, *, shared: bool = False) -> None:
        """Wait for the lock on *fd*; Windows has no shared one."""
        del shared
        os.lseek(fd, 0x7FFFFFF0, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_LOCK, 1)

    def unlock_file(fd: int) -> None:
        """Give up the lock on *fd*."""
        os.lseek(fd, 0x7FFFFFF0, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

    def _read(fd: int) -> bytes:
        os.lseek(fd, 0, os.SEEK_SET)
        return os.read(fd, _FILE)

    def _write(fd: int, data: bytes, offset: int) -> int:
        os.lseek(fd, offset, os.SEEK_SET)
        return os.write(fd, data)

else:
    import fcntl

    def lock_file(fd: int, *, shared: bool = False) -> None:
        """Wait for the advisory lock on *fd*, *shared* among readers."""
        fcntl.flock(fd, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)

    def unlock_file(fd: int) -> None:
        """Give up the lock on *fd*; harmless if it is not held."""
        fcntl.flock(fd, fcntl.LOCK_UN)

    def _read(fd: int) -> bytes:
        return os.pread(fd, _FILE, 0)

    def _write(fd: int, data: bytes, offset: int) -> int:
        return os.pwrite(fd, data, offset)


@dataclass(frozen=True, slots=True)
class Head:
    """How far a ledger was known to reach: *size* events, the last with *hash*."""

    size: int
    hash: bytes

    def __repr__(self) -> str:
        """Show the hash in hex, like everything else."""
        return f"<Head of {self.size} events: {self.hash.hex()}>"


class HeadMemory:
    """The head memory in one file; safe for threads, processes and forks.

    The first `advance` makes the file, in a directory that exists.
    """

    __slots__ = (
        "_bytes",
        "_counter",
        "_file",
        "_guard",
        "_hash",
        "_pid",
        "_size",
        "path",
    )

    def __init__(self, path: Path) -> None:
        """Open nothing yet."""
        self.path = path
        self._file: BinaryIO | None = None
        self._bytes: bytes | None = None
        self._counter = 0
        self._size = 0
        self._hash = b""
        self._guard = threading.Lock()
        self._pid = os.getpid()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()

    def read(self) -> Head | None:
        """Return the remembered head; None if nothing was ever remembered.

        Raises:
            CannotTellError: the file is damaged or unreadable.

        """
        try:
            if self._file is not None and os.getpid() == self._pid:
                return self._read_open()
            fd = open_file(self.path, os.O_RDONLY)
            with open(fd, "rb", buffering=0) as file:  # noqa: PTH123 - a descriptor
                lock_file(file.fileno(), shared=True)
                _, head = self._newest(_read(file.fileno()))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unusable("read", error) from None
        return head

    def _read_open(self) -> Head | None:
        """Read through the open file: each append does so before it writes."""
        with self._guard:
            fd = self._descriptor()
            if (
                _read(fd) == self._bytes
            ):  # nobody moved it: no lock is needed to see that
                return Head(self._size, self._hash) if self._size else None
            try:
                lock_file(fd, shared=True)
                stored = _read(fd)
            finally:
                unlock_file(fd)
            if stored != self._bytes:
                self._counter, head = self._newest(stored)
                self._size, self._hash = (head.size, head.hash) if head else (0, b"")
                self._bytes = stored
            return Head(self._size, self._hash) if self._size else None

    def advance(self, size: int, leaf_hash: bytes) -> None:
        """Remember that the ledger has *size* events, the last with *leaf_hash*.

        Visible to every process when this returns, on disk when `sync` returns.

        Raises:
            WrongError: another hash is remembered for the same size.
            CannotTellError: the file is damaged or cannot be written.

        """
        if size < 1 or len(leaf_hash) != _HASH:
            raise UsageError("a head has events and a 32-byte hash", rule="head/value")
        if os.getpid() != self._pid:
            self._forget_process()
        with self._guard:
            try:
                file = self._file
                fd = self._descriptor() if file is None else file.fileno()
                self._advance(fd, size, leaf_hash)
            except OSError as error:
                raise self._unusable("write", error) from None

    def sync(self) -> None:
        """Write the remembered head to disk."""
        if os.getpid() != self._pid:
            self._forget_process()
        with self._guard:
            try:
                os.fsync(self._descriptor())
            except OSError as error:
                raise self._unusable("sync", error) from None

    def close(self) -> None:
        """Close the file; the next `advance` opens it again."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _advance(self, fd: int, size: int, leaf_hash: bytes) -> None:
        """Move forward under the lock; on the path of every durable commit."""
        try:
            lock_file(fd)
            stored = _read(fd)
            if stored != self._bytes:  # somebody else moved it
                self._counter, head = self._newest(stored)
                self._size, self._hash = (head.size, head.hash) if head else (0, b"")
                self._bytes = stored
            if size <= self._size:
                if size == self._size and leaf_hash != self._hash:
                    self._refuse_fork(size)
                return
            counter = self._counter + 1
            body = _pack(_MAGIC, counter, size, leaf_hash)
            slot = body + _sha256(body).digest()[:8]
            if counter % 2:
                offset, after = _SLOT, stored[:_SLOT].ljust(_SLOT, b"\0") + slot
            else:
                offset, after = 0, slot + stored[_SLOT:]
            if _write(fd, slot, offset) != _SLOT:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._bytes, self._counter = after, counter
            self._size, self._hash = size, leaf_hash
        finally:
            unlock_file(fd)

    def _newest(self, stored: bytes) -> tuple[int, Head | None]:
        """Return counter and head of the slot that counts."""
        slots = [_decode(stored[:_SLOT]), _decode(stored[_SLOT:])]
        good = [slot for slot in slots if slot is not None]
        if good:
            return max(good, key=lambda slot: slot[0])
        if any(stored):
            raise CannotTellError(
                "neither slot of the head memory is whole",
                rule="head/damaged",
                place=str(self.path),
                remedy="restore the file; or delete it, and what was cut goes unnoticed",
            )
        return 0, None

    def _descriptor(self) -> int:
        if self._file is None:
            fd = open_file(self.path, os.O_RDWR | os.O_CREAT)
            self._file = open(fd, "r+b", buffering=0)  # noqa: PTH123, SIM115 - kept
        return self._file.fileno()

    def _forget_process(self) -> None:
        """Start afresh: a lock taken before a fork would belong to both sides."""
        self._pid = os.getpid()
        self._guard = threading.Lock()
        self.close()

    def _refuse_fork(self, size: int) -> None:
        raise WrongError(
            "another event is remembered at the same place: the history forked",
            rule="head/forked",
            seq=size - 1,
            place=str(self.path),
            remedy="muniment verify; one of the two ledgers is not the original",
        )

    def _unusable(self, what: str, error: OSError) -> CannotTellError:
        return CannotTellError(
            f"cannot {what} the head memory ({error.strerror})",
            rule="head/unusable",
            place=str(self.path),
            remedy="make the trust home (MUNIMENT_HOME) readable and writable",
        )


def _decode(slot: bytes) -> tuple[int, Head] | None:
    body, checksum = slot[: _BODY.size], slot[_BODY.size :]
    if len(slot) != _SLOT or _sha256(body).digest()[:8] != checksum:
        return None
    magic, counter, size, leaf_hash = _BODY.unpack(body)
    return (counter, Head(size, leaf_hash)) if magic == _MAGIC else None
