"""The options that narrow lists of events and of runs: one for each word of the grammar.

Rules: an option passes its word to the ledger as it was typed, which refuses what means
nothing; `muniment.EventFilters` and `muniment.RunFilters` say what each is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

import click

from muniment.formats.lifecycle import STATUSES
from muniment_cli.shell.completion import complete_runs, complete_types
from muniment_cli.shell.options import pairs

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["event_filters", "order_option", "run_filters"]

F = TypeVar("F", bound=Callable[..., object])

_TIMES = "2026-11-20T07:00:00Z, 2026-11-20, 2h, 3d or yesterday."


class _Option(Protocol):
    """What adds an option to a command."""

    def __call__(self, function: F, /) -> F: ...


def event_filters(function: F) -> F:
    """Add the options that narrow a list of events, as the words of `EventFilters`."""
    return _added(
        function,
        _type("Event types: note.added, 'llm.*', or several, separated by commas."),
        _run("Only of this run."),
        *_claimed(),
        click.option("--since", metavar="TIME", help=f"Not before: {_TIMES}"),
        click.option("--until", metavar="TIME", help="Before; as --since."),
        _subject("About this blob or file, by its sha256:… digest."),
        _series("Only of this series."),
        _grep("With TEXT in the signed payload."),
    )


def run_filters(function: F) -> F:
    """Add the options that narrow a list of runs, as the words of `RunFilters`."""
    return _added(
        function,
        click.option(
            "--status",
            metavar="STATUS",
            shell_complete=_complete_statuses,
            help=f"Only with this status, or several, separated by commas: "
            f"{', '.join(STATUSES)}.",
        ),
        click.option(
            "--name",
            metavar="GLOB",
            help="Only with this name: triage, or 'nightly-*'.",
        ),
        click.option(
            "--program",
            metavar="GLOB",
            help="Only of this program, by its name or import path.",
        ),
        click.option(
            "--label",
            "labels",
            multiple=True,
            metavar="KEY=VALUE",
            callback=_labels,
            help="Only with this label.",
        ),
        _run("Only this run."),
        *_claimed(),
        click.option("--since", metavar="TIME", help=f"Started not before: {_TIMES}"),
        click.option("--until", metavar="TIME", help="Started before; as --since."),
        _type("With an event of this type; as in `muniment events`."),
        _subject("With an event about this blob or file."),
        _series("With an event of this series."),
        _grep("With an event with TEXT in its signed payload."),
    )


def order_option(function: F) -> F:
    """Add ``--order``, by which the newest come first unless it says otherwise."""
    orders = click.Choice(["asc", "desc"])
    option = click.option("--order", type=orders, default="desc", show_default=True)
    return option(function)


def _added(function: F, *options: _Option) -> F:
    for option in reversed(options):
        function = option(function)
    return function


def _type(text: str) -> _Option:
    return click.option(
        "--type", shell_complete=complete_types, metavar="GLOB", help=text
    )


def _run(text: str) -> _Option:
    return click.option("--run", shell_complete=complete_runs, metavar="RUN", help=text)


def _claimed() -> tuple[_Option, _Option]:
    return (
        click.option("--tenant", metavar="NAME", help="Only of this tenant."),
        click.option("--actor", metavar="NAME", help="Only by this actor, as claimed."),
    )


def _subject(text: str) -> _Option:
    return click.option("--subject", metavar="DIGEST", help=text)


def _series(text: str) -> _Option:
    return click.option("--series", metavar="KEY", help=text)


def _grep(text: str) -> _Option:
    return click.option("--grep", metavar="TEXT", help=text)


def _labels(
    ctx: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> dict[str, str] | None:
    del ctx, parameter
    return pairs(texts, "label") or None


def _complete_statuses(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    del ctx, parameter
    return [CompletionItem(one) for one in STATUSES if one.startswith(incomplete)]
