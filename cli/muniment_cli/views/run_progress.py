"""What people see of a run while it runs.

Rules:

- On a terminal it is one line, at the bottom, which gives way to what is written. Where
  lines do not change (a pipe, no colours), a graph leaves a line for each node that ends;
  other programs leave nothing.
- It goes to stderr. Who wants JSON sees nothing.
- A display never ends the work that it shows.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

import click

from muniment_cli.terminal.output import allows_colour, clean

if TYPE_CHECKING:
    from muniment.ledger import Ledger
    from muniment_cli.views.graphs.progress import GraphProgress

__all__ = ["progress_of_run"]

_TICK = 0.25

Aside = Callable[[], AbstractContextManager[object]]


@contextmanager
def progress_of_run(
    ledger: Ledger,
    *resumed: str,
    graph: bool = False,
    as_json: bool = False,
    hidden: bool = False,
) -> Generator[Aside]:
    """Show on stderr what is being recorded; the yielded function pauses the display.

    Args:
        ledger: where it is recorded.
        resumed: the runs that go on, and may have begun before.
        graph: whether a graph is walked, whose nodes get lines on a pipe; known of runs
            that are resumed.
        as_json: whether the answer is JSON; then nothing is shown of a graph.
        hidden: whether to show nothing, since the program has the terminal to itself.

    """
    from muniment_cli.terminal.spinner import Spinner

    graph = graph or _walks_graph(ledger, resumed)
    if hidden or (as_json and graph):
        yield nullcontext
        return
    drawn = sys.stderr.isatty() and allows_colour() is not False
    spinner = Spinner(sys.stderr) if drawn else None
    if spinner is not None and spinner.is_possible:
        seen = _following(ledger, resumed)
        with spinner.shown(lambda: _line(seen)):
            yield spinner.aside
    elif graph:
        with _lines(_following(ledger, resumed)):
            yield nullcontext
    else:
        yield nullcontext


def _walks_graph(ledger: Ledger, runs: tuple[str, ...]) -> bool:
    """Return whether one of *runs* walks a graph; a run that begins loads nothing."""
    if not runs:
        return False
    from muniment_plugins.workflow.records.record import walks_graph

    return any(walks_graph(ledger, run) for run in runs)


def _following(ledger: Ledger, resumed: tuple[str, ...]) -> GraphProgress:
    """Return what follows the runs from here on; loaded where something is shown."""
    from muniment_cli.views.graphs.progress import GraphProgress

    seen = GraphProgress(ledger, ledger.head.size)
    seen.follow(*resumed)
    return seen


def _line(seen: GraphProgress) -> str:
    for _ in seen.new_lines():
        pass  # a terminal shows what is being done
    return clean(seen.line or f"{seen.events} events  {seen.last}")


@contextmanager
def _lines(seen: GraphProgress) -> Generator[None]:
    """Write a line for each node that ended, from a thread, and the rest at the end."""
    stop, out, own = threading.Event(), sys.stderr, os.getpid()

    def write() -> None:
        with suppress(OSError, ValueError):  # whoever read it may have gone
            for line in seen.new_lines():
                click.echo(clean(line), file=out)

    def watch() -> None:
        while not stop.wait(_TICK):
            write()

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield
    finally:
        if os.getpid() == own:  # a forked child comes here, too
            stop.set()
            watching.join()
            write()
