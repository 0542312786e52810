"""One line at the bottom of a terminal that others write to and read from.

    spinner = Spinner(sys.stderr)
    with spinner.shown(text):         drawn anew every quarter of a second
        print("done")                 the line is gone before this is written
        input("name? ")               and stays away until that was answered

Rules:

- The spinner is silent while the program reads from the terminal, and while the last line
  that it wrote has no end: nobody types blind, and no prompt is erased. If in doubt it is
  silent.
- A program that reads is noticed by `input` and the streams of `sys`, by the mode of the
  terminal (passwords, editors, pagers and line editors change it), and on Linux by the
  system calls of its threads and child processes.
- Streams keep their descriptors and attributes; only what is written passes by here.
"""

from __future__ import annotations

import builtins
import itertools
import os
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, Self

from muniment_cli.terminal.readers import is_read, mode_of

__all__ = ["Spinner"]

_TICK = 0.25
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_USUAL = 80
"""Columns of a terminal that does not know."""
_ERASE = "\r\x1b[K"


class Spinner:
    """Draws the line, unless somebody else uses the terminal."""

    def __init__(self, out: IO[str]) -> None:
        """Draw on *out*, which is a terminal."""
        self._out = out
        self._lock = threading.RLock()
        self._frames = itertools.cycle(_FRAMES)
        self._mode = mode_of(out.fileno())
        self._drawn = False
        self._unfinished = False
        self._readers = 0
        self._owner = os.getpid()

    @property
    def is_possible(self) -> bool:
        """Whether this terminal moves the cursor, and tells its mode."""
        known = os.environ.get("TERM", "dumb") not in ("dumb", "unknown")
        return known and self._mode is not None

    @contextmanager
    def shown(self, text: Callable[[], str]) -> Generator[None]:
        """Draw what *text* returns while the body runs."""
        stop = threading.Event()

        def draw() -> None:
            while not stop.wait(_TICK):
                self._draw(text())

        drawing = threading.Thread(target=draw, daemon=True)
        with self._watching():
            drawing.start()
            try:
                yield
            finally:
                stop.set()
                drawing.join()
                self._erase()

    @contextmanager
    def aside(self) -> Generator[None]:
        """Be silent while somebody reads from the terminal in the body."""
        with self.writing():
            self._readers += 1
        try:
            yield
            self._unfinished = False  # who typed a line has ended it
        finally:
            with self.writing():
                self._readers -= 1

    def wrote(self, text: object) -> None:
        """Take note of the end of what is on the terminal now."""
        if isinstance(text, str | bytes) and text:
            self._unfinished = text[-1:] not in ("\n", b"\n")

    @contextmanager
    def writing(self) -> Generator[None]:
        """Give way to what is written in the body."""
        if os.getpid() != self._owner:  # a fork has the lock as it was then
            yield
            return
        with self._lock:
            self._erase()
            yield

    def _draw(self, text: str) -> None:
        with self._lock:
            if self._is_used():
                self._erase()
                return
            width = _width(self._out.fileno())
            line = f"{next(self._frames)} {text}"[: max(width - 1, 0)]
            with suppress(OSError, UnicodeError):
                self._out.write(_ERASE + line)
                self._out.flush()
                self._drawn = True

    def _is_used(self) -> bool:
        if self._readers or self._unfinished:
            return True
        return is_read(self._out.fileno(), self._mode)

    def _erase(self) -> None:
        with self._lock:
            if self._drawn:
                self._drawn = False
                with suppress(OSError):
                    self._out.write(_ERASE)
                    self._out.flush()

    @contextmanager
    def _watching(self) -> Generator[None]:
        """Let what the program writes and reads pass by here."""
        before = {name: getattr(sys, name) for name in ("stdin", "stdout", "stderr")}
        usual = builtins.input

        def asked(prompt: object = "", /) -> str:
            with self.aside():
                return usual(prompt)

        for name, stream in before.items():
            if stream is not None and stream.isatty():
                setattr(sys, name, _Passing(stream, self))
        builtins.input = asked
        try:
            yield
        finally:
            builtins.input = usual
            for name, stream in before.items():
                setattr(sys, name, stream)


class _Passing:
    """A stream of `sys`, whose writes erase the spinner and whose reads silence it."""

    def __init__(self, stream: Any, spinner: Spinner) -> None:
        self._stream = stream
        self._spinner = spinner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @property
    def buffer(self) -> _Passing:
        return _Passing(self._stream.buffer, self._spinner)

    def write(self, text: Any) -> Any:
        with self._spinner.writing():
            done = self._stream.write(text)
            self._spinner.wrote(text)
        return done

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        with self._spinner.writing():
            self._stream.flush()

    def read(self, *size: Any) -> Any:
        with self._spinner.aside():
            return self._stream.read(*size)

    def readline(self, *size: Any) -> Any:
        with self._spinner.aside():
            return self._stream.readline(*size)

    def readlines(self, *size: Any) -> Any:
        with self._spinner.aside():
            return self._stream.readlines(*size)

    def __iter__(self) -> Iterator[Any]:
        while line := self.readline():
            yield line

    def __next__(self) -> Any:
        if line := self.readline():
            return line
        raise StopIteration

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()


def _width(terminal: int) -> int:
    try:
        return os.get_terminal_size(terminal).columns or _USUAL
    except OSError:
        return _USUAL
