"""Waits for several pipes at once, on systems that can and on one that cannot.

    streams = opened()
    streams.await_reading(fd, ready)        ready(fd), which may then read
    while streams.awaits(fd):
        streams.wait(0.1)

Rules:

- If the system can wait for pipes, one thread reads and writes them when they are
  ready. Their ends do not block: what was ready a moment ago may be gone, because
  another process may have the pipe open too.
- On Windows each pipe has a thread: incoming and outgoing data waits in queues of
  bounded length, so that a child that prints without end finds its pipe full.
- What a dead process left in its pipes is read to the end, but not what others add.
"""

from __future__ import annotations

import contextlib
import os
import queue
import selectors
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Protocol

__all__ = ["Selecting", "Streams", "Threaded", "opened"]

CHUNK = 1 << 16
_MOST_WAITING = 64
_MOST_LEFT = 64  # more than a pipe or a socket holds
_PATIENCE_S = 0.05
_ENDING_S = 5.0

Ready = Callable[[int], None]


class Streams(Protocol):
    """Descriptors, and functions to call when one of them can be read or written."""

    def await_reading(self, descriptor: int, ready: Ready) -> None:
        """Call *ready* whenever something can be read."""
        ...

    def await_writing(self, descriptor: int, ready: Ready) -> None:
        """Call *ready* whenever something can be written."""
        ...

    def forget(self, descriptor: int) -> None:
        """Stop waiting for it."""
        ...

    def awaits(self, descriptor: int) -> bool:
        """Tell whether it is waited for."""
        ...

    def wait(self, seconds: float) -> None:
        """Wait at most *seconds* until something is ready, and call its function."""
        ...

    def read(self, descriptor: int) -> bytes | None:
        """Return what has come; empty at the end, None if another reader took it."""
        ...

    def write(self, descriptor: int, data: memoryview) -> int:
        """Write some of *data*, and return how much.

        Raises:
            BrokenPipeError: nobody reads any more.

        """
        ...

    def rest(self, descriptor: int) -> Iterator[bytes]:
        """Return what an ended process left, without waiting for more."""
        ...

    def close(self) -> None:
        """Stop waiting; the descriptors stay open."""
        ...


class Selecting:
    """One thread that waits for all of them."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def await_reading(self, descriptor: int, ready: Ready) -> None:
        """Call *ready* whenever something can be read."""
        os.set_blocking(descriptor, False)
        self._selector.register(descriptor, selectors.EVENT_READ, ready)

    def await_writing(self, descriptor: int, ready: Ready) -> None:
        """Call *ready* whenever something can be written."""
        os.set_blocking(descriptor, False)
        self._selector.register(descriptor, selectors.EVENT_WRITE, ready)

    def forget(self, descriptor: int) -> None:
        """Stop waiting for it."""
        self._selector.unregister(descriptor)

    def awaits(self, descriptor: int) -> bool:
        """Tell whether it is waited for."""
        return descriptor in self._selector.get_map()

    def wait(self, seconds: float) -> None:
        """Wait at most *seconds* until something is ready, and call its function."""
        for key, _ in self._selector.select(seconds):
            key.data(key.fd)

    def read(self, descriptor: int) -> bytes | None:
        """Return what has come; empty at the end, None if another reader took it."""
        try:
            return os.read(descriptor, CHUNK)
        except BlockingIOError:
            return None

    def write(self, descriptor: int, data: memoryview) -> int:
        """Write some of *data*, and return how much."""
        try:
            return os.write(descriptor, data[: 1 << 20])
        except BlockingIOError:
            return 0

    def rest(self, descriptor: int) -> Iterator[bytes]:
        """Return what an ended process left, without waiting for more."""
        with contextlib.suppress(BlockingIOError):
            for _ in range(_MOST_LEFT):  # a process that is left may write for ever
                if not (part := os.read(descriptor, CHUNK)):
                    return
                yield part

    def close(self) -> None:
        """Stop waiting; the descriptors stay open."""
        self._selector.close()


class Threaded:
    """A thread for each of them, if the system cannot wait for pipes."""

    def __init__(self) -> None:
        self._arrived: queue.Queue[tuple[int, bytes]] = queue.Queue(_MOST_WAITING)
        self._readers: dict[int, Ready] = {}
        self._writers: dict[int, Ready] = {}
        self._unended: set[int] = set()
        self._kept: dict[int, list[bytes]] = {}
        self._outgoing: dict[int, queue.Queue[bytes]] = {}
        self._threads: list[threading.Thread] = []

    def await_reading(self, descriptor: int, ready: Ready) -> None:
        """Call *ready* whenever something can be read."""
        self._readers[descriptor] = ready
        self._unended.add(descriptor)
        self._start(self._read_all, descriptor)

    def await_writing(self, descriptor: int, ready: Ready) -> None:
        """Call *ready* whenever something can be written."""
        self._writers[descriptor] = ready
        if descriptor not in self._outgoing:
            self._outgoing[descriptor] = queue.Queue(_MOST_WAITING)
            self._start(self._write_all, descriptor)

    def forget(self, descriptor: int) -> None:
        """Stop waiting for it."""
        self._readers.pop(descriptor, None)
        self._writers.pop(descriptor, None)

    def awaits(self, descriptor: int) -> bool:
        """Tell whether it is waited for."""
        return descriptor in self._readers or descriptor in self._writers

    def wait(self, seconds: float) -> None:
        """Wait at most *seconds* until something is ready, and call its function."""
        patience = seconds
        for descriptor, ready in [*self._writers.items()]:
            # If it cannot be written now, look again soon.
            patience = _PATIENCE_S
            if not self._outgoing[descriptor].full():
                ready(descriptor)
                patience = 0.0
        descriptor = self._keep_next(patience)
        if descriptor in self._readers:
            self._readers[descriptor](descriptor)

    def read(self, descriptor: int) -> bytes | None:
        """Return what has come; empty at the end."""
        return self._kept[descriptor].pop(0)

    def write(self, descriptor: int, data: memoryview) -> int:
        """Write some of *data*, and return how much."""
        part = bytes(data[:CHUNK])
        self._outgoing[descriptor].put(part)
        return len(part)

    def rest(self, descriptor: int) -> Iterator[bytes]:
        """Return what an ended process left, without waiting for more."""
        while descriptor in self._unended and self._keep_next(1.0) >= 0:
            pass
        yield from filter(None, self._kept.pop(descriptor, ()))

    def close(self) -> None:
        """Stop waiting; the descriptors stay open."""
        for outgoing in self._outgoing.values():
            with contextlib.suppress(queue.Full):
                outgoing.put(b"", timeout=_PATIENCE_S)
        while self._unended and self._keep_next(1.0) >= 0:
            pass  # a thread may be waiting for room
        for thread in self._threads:
            thread.join(_ENDING_S)

    def _keep_next(self, seconds: float) -> int:
        """Keep what comes next, and return its descriptor; -1 if nothing came."""
        try:
            descriptor, part = self._arrived.get(seconds > 0, max(seconds, 0))
        except queue.Empty:
            return -1
        self._kept.setdefault(descriptor, []).append(part)
        if not part:
            self._unended.discard(descriptor)
        return descriptor

    def _start(self, work: Callable[[int], None], descriptor: int) -> None:
        thread = threading.Thread(target=work, args=(descriptor,), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _read_all(self, descriptor: int) -> None:
        part = b"more"
        while part:
            try:
                part = os.read(descriptor, CHUNK)
            except OSError:
                part = b""
            self._arrived.put((descriptor, part))

    def _write_all(self, descriptor: int) -> None:
        while data := self._outgoing[descriptor].get():
            left = memoryview(data)
            with contextlib.suppress(OSError):  # nobody reads: the child's end says why
                while left:
                    left = left[os.write(descriptor, left) :]


def opened() -> Streams:
    """Return the streams for this system."""
    return Threaded() if sys.platform == "win32" else Selecting()
