"""The options of `muniment approve` and `muniment deny`, loaded without the ledger."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from muniment_cli.shell.completion import complete_runs

__all__ = ["answer_options"]

F = TypeVar("F", bound=Callable[..., object])

_OPTIONS = (
    click.argument("what", metavar="RUN|SEQ", shell_complete=complete_runs),
    click.option("--reason", default="", metavar="TEXT", help="Why; it is recorded."),
    click.option(
        "--meaning",
        default="",
        metavar="TEXT",
        help="What the signature means: that the report was read, say.",
    ),
    click.option(
        "--key",
        metavar="KEY",
        help="Sign with this key: a file, or env:NAME.  [default: the trust home's]",
    ),
    click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Write the signed answer to this new file, not to the ledger.",
    ),
    click.option(
        "--resume", is_flag=True, help="Continue the run at once, if that decides it."
    ),
)


def answer_options(function: F) -> F:
    """Add the options for the question, the reason and the key."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function
