r"""Relaying the output of a replayed program to a terminal.

    relay = Relay(2)                        a pipe, and a thread that reads it
    subprocess.Popen(…, stderr=relay.end)
    the program prints "\x1b[2Jacceptable"  the terminal shows \x1b[2Jacceptable

Rules:

- A replayed program gets no terminal: it could read what is typed there, change how it
  behaves, and overwrite the verdict. Its output is shown, but the terminal does not act
  on it.
- All its output is shown before this ends; it does not wait for more.
"""

from __future__ import annotations

import codecs
import os
import threading

from muniment.encoding.visible import clean

__all__ = ["Relay"]


class Relay:
    """Copies what comes through a pipe to the terminal *out*, escaped."""

    def __init__(self, out: int) -> None:
        """Open the pipe, and start reading it."""
        self._out = out
        self._heard, self.end = os.pipe()
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Show the rest; the writer has ended."""
        os.close(self.end)
        self._thread.join()
        os.close(self._heard)

    def _copy(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        while data := os.read(self._heard, 1 << 16):
            self._show(decoder.decode(data))
        self._show(decoder.decode(b"", final=True))

    def _show(self, text: str) -> None:
        parts = text.replace("\r\n", "\n").split("\t")
        data = "\t".join(map(clean, parts)).encode("utf-8", "backslashreplace")
        while data:
            try:
                data = data[os.write(self._out, data) :]
            except BlockingIOError:
                continue
            except OSError:
                return  # the terminal is gone; the pipe is still read to its end
