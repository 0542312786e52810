"""What models say while they say it, on stderr.

    act.1/turn.1: I look at the module, and at what fails.

Rules:

- Text begins a line with its scope whenever another scope speaks than before.
- It is what models say, so what could steer a terminal is taken out of it.
- On a terminal it is written as it is said; elsewhere by whole lines, since others write
  lines between.
- Listening changes nothing in the record.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

import click

from muniment_cli.terminal.output import clean

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["heard_models"]


@contextmanager
def heard_models(
    wanted: bool, aside: Callable[[], AbstractContextManager[object]] = nullcontext
) -> Generator[None]:
    """Write what models say in the runs within this context, if that is *wanted*.

    Args:
        wanted: whether to listen.
        aside: pauses what else is shown on the terminal.

    """
    if not wanted:
        yield
        return
    from muniment_plugins.workflow import listening_to_models

    told = _Told(aside)
    with listening_to_models(told):
        yield
    told.end()


class _Told:
    """Writes text below the scope that says it."""

    def __init__(self, aside: Callable[[], AbstractContextManager[object]]) -> None:
        self._aside, self._lock = aside, threading.Lock()
        self._speaks, self._open = "", ""
        self._live = sys.stderr.isatty()

    def __call__(self, scope: str, text: str) -> None:
        with self._lock, self._aside(), suppress(OSError, ValueError):
            if scope != self._speaks:
                self._close()
                self._say(f"{clean(scope)}: ")
                self._speaks = scope
            self._say("\n".join(clean(one) for one in text.split("\n")))

    def end(self) -> None:
        """End the last line."""
        with self._lock, suppress(OSError, ValueError):
            self._close()

    def _say(self, text: str) -> None:
        """Write *text*; where others write lines between, by whole lines only."""
        lines, _, self._open = f"{self._open}{text}".rpartition("\n")
        if self._live:
            click.echo(text, file=sys.stderr, nl=False)
        elif "\n" in text:
            click.echo(lines, file=sys.stderr)

    def _close(self) -> None:
        if self._open:
            click.echo("" if self._live else self._open, file=sys.stderr)
        self._open = ""
