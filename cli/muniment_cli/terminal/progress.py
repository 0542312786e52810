"""A progress bar on stderr, for long work.

    with progress("verify") as advance: work(advance)

Rules: it is drawn if a person looks at stderr and did not ask for plain text, and not
before the work has taken a while.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from muniment_cli.terminal.output import allows_colour

__all__ = ["progress"]

PROGRESS_DELAY = 0.5


@contextmanager
def progress(label: str) -> Generator[Callable[[int, int], None] | None]:
    """Yield a function of (done, total) that draws a bar on stderr, or None."""
    if not sys.stderr.isatty() or allows_colour() is False:
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    begun = time.monotonic()
    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(label, total=None)

    def advance(done: int, total: int) -> None:
        if not bar.live.is_started and time.monotonic() - begun >= PROGRESS_DELAY:
            bar.start()
        bar.update(task, completed=done, total=total)

    try:
        yield advance
    finally:
        bar.stop()
