"""Options and arguments that several commands share.

Rules: ``--json`` is one document, ``--jsonl`` a stream of them, one per line; the exit
code is the same with and without.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import click

from muniment_cli.shell.completion import complete_runs

__all__ = [
    "ALGORITHMS",
    "SecondsRange",
    "command_argument",
    "examples",
    "json_option",
    "jsonl_option",
    "pairs",
    "private_option",
    "run_argument",
]

ALGORITHMS = ["ed25519", "p256"]


class SecondsRange(click.FloatRange):
    """A number of seconds that one can wait for: within the range, and no NaN."""

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """Return the number, or refuse what is none."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is no number of seconds", param, ctx)
        return number


F = TypeVar("F", bound=Callable[..., object])


def examples(*lines: str) -> str:
    """Return the epilog of a command's help."""
    title = "Example:" if len(lines) == 1 else "Examples:"
    return "\n".join(["\b", title, *(f"  {line}" for line in lines)])


def json_option(function: F) -> F:
    """Add ``--json`` as the parameter ``as_json``."""
    text = "Print one JSON document."
    return click.option("--json", "as_json", is_flag=True, help=text)(function)


def jsonl_option(function: F) -> F:
    """Add ``--jsonl`` as the parameter ``as_jsonl``."""
    text = "Print one JSON document a line."
    return click.option("--jsonl", "as_jsonl", is_flag=True, help=text)(function)


def private_option(function: F) -> F:
    """Add ``--private`` as the parameter ``private``."""
    text = "Also what is private."
    return click.option("--private", is_flag=True, help=text)(function)


def run_argument(function: F) -> F:
    """Add the argument RUN (an id or a unique prefix) as the parameter ``run``."""
    return click.argument("run", metavar="RUN", shell_complete=complete_runs)(function)


def command_argument(function: F) -> F:
    """Add whatever comes after ``--``, a command line, as ``command_line``."""
    argument = click.argument(
        "command_line", metavar="[-- COMMAND…]", nargs=-1, type=click.UNPROCESSED
    )
    return argument(function)


def pairs(texts: tuple[str, ...], option: str) -> dict[str, str]:
    """Return the ``KEY=VALUE`` *texts* of the option *option* as a dictionary."""
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise click.UsageError(f"--{option} takes KEY=VALUE, not {text!r}")
        if key in found:
            raise click.UsageError(f"--{option} {key} is given twice")
        found[key] = value
    return found
