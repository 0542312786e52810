"""Streams that were closed before the start, as by ``>&-``.

    lost = open_what_is_closed()
    …
    if lost(): …                    the answer, or a part of it, was lost

Rules:

- No file of ours gets the number of a standard stream: anything that writes to
  descriptor 1 past Python would write into it, and it might be a ledger.
- Output to a closed stdout is lost, and that is an error, as for ``cat``; a command
  that prints nothing needs none. Nobody reads a closed stderr, so that loses nothing.
- The error comes only at the end: the command has done its work, and a program may
  print as it likes.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

__all__ = ["open_what_is_closed"]

_HOW = (os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)
"""How each stream is opened: reading the first or writing to the second fails."""


class _Lost(io.RawIOBase):
    """Discards what is written, and knows whether there was anything."""

    any = False

    def writable(self) -> bool:
        """Tell that it can be written to."""
        return True

    def fileno(self) -> int:
        """Return the number that a child gets."""
        return 1

    def write(self, data: Any, /) -> int:
        """Discard *data*."""
        self.any = self.any or len(data) > 0
        return len(data)


def open_what_is_closed() -> Callable[[], bool]:
    """Open closed streams; return a function that tells whether output was lost."""
    for number, how in enumerate(_HOW):
        try:
            os.fstat(number)
        except OSError:
            with suppress(OSError):
                os.open(os.devnull, how)  # it gets the lowest number that is free
    if sys.stderr is None:
        stream = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - to the end
        sys.stderr = stream
    if sys.stdout is not None:
        return lambda: False
    lost = _Lost()
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(lost), "utf-8", "replace")
    return lambda: lost.any
