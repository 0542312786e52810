"""Streams that were closed before the start, as by ``>&-``, or that lack characters.

    lost = open_what_is_closed()
    escape_what_has_no_code()
    …
    if lost(): …                    the answer, or a part of it, was lost

Rules:

- No file of ours gets the number of a standard stream: anything that writes to
  descriptor 1 past Python would write into it, and it might be a ledger.
- Output to a closed stdout is lost, and that is an error, as for ``cat``; a command
  that prints nothing needs none. Nobody reads a closed stderr, so that loses nothing.
- The error comes only at the end: the command has done its work, and a program may
  print as it likes.
- A program that we start has the stream closed, as it would have alone: no child inherits
  what we opened in its place.
- A character that the encoding of a stream lacks, as in a locale without UTF-8, is
  escaped: a report, a finding or an error is never lost to it.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

__all__ = ["escape_what_has_no_code", "open_what_is_closed"]

_HOW = (os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)
"""How each stream is opened: reading the first or writing to the second fails."""


class _Lost(io.RawIOBase):
    """Discards what is written, and knows whether there was anything."""

    any = False

    def writable(self) -> bool:
        """Tell that it can be written to."""
        return True

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


def escape_what_has_no_code() -> None:
    r"""Let stdout write ``\u65e5`` for a character that its encoding lacks, as stderr does."""
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper) and out.errors == "strict":
        out.reconfigure(errors="backslashreplace")
