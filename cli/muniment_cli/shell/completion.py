"""Shell completion from the ledger: run ids and event types.

Rules: completion offers what it can and is silent about the rest; it writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muniment.encoding.visible import clean

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["complete_keys", "complete_runs", "complete_types"]


def complete_runs(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the newest runs whose ids begin with *incomplete*."""
    del parameter
    from muniment.queries.names import run_ids

    return _ask(ctx, run_ids, incomplete.upper())


def complete_types(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the event types of the ledger that begin with *incomplete*."""
    del parameter
    from muniment.queries.names import type_names

    return _ask(ctx, type_names, incomplete)


def complete_keys(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the keys of the ledger."""
    from click.shell_completion import CompletionItem

    from muniment.errors import MunimentError
    from muniment_cli.shell.context import Session

    del parameter
    try:
        with ctx.ensure_object(Session).open() as ledger:
            entries = ledger.keys.entries
    except MunimentError:
        return []  # a shell that completes has nobody to complain to
    return [
        CompletionItem(one.keyid, help="+".join(one.roles))
        for one in entries
        if one.until is None and one.keyid.startswith(incomplete)
    ]


def _ask(
    ctx: click.Context, names: Callable[[Path, str], list[str]], prefix: str
) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from muniment.errors import MunimentError
    from muniment_cli.shell.context import Session

    try:
        found = names(ctx.ensure_object(Session).place(), prefix)
    except (MunimentError, OSError):
        return []  # a shell that completes has nobody to complain to
    return [CompletionItem(name) for name in found if clean(name) == name]
