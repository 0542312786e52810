"""Shell completion from the ledger: run ids and event types.

Rules: completion answers what it can and is silent about the rest; it writes nothing.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from muniment_cli.escapes import clean

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["complete_keys", "complete_runs", "complete_types"]

_RUNS = (
    "SELECT run, max(seq) AS last FROM event WHERE run >= ? AND run < ? "
    "GROUP BY run ORDER BY last DESC LIMIT 50"
)
_TYPES = "SELECT DISTINCT type FROM event WHERE type >= ? AND type < ? ORDER BY type"


def complete_runs(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the newest runs whose ids begin with *incomplete*."""
    del parameter
    return _ask(ctx, _RUNS, incomplete.upper())


def complete_types(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the event types of the ledger that begin with *incomplete*."""
    del parameter
    return _ask(ctx, _TYPES, incomplete)


def complete_keys(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the keys of the ledger."""
    from click.shell_completion import CompletionItem

    from muniment.errors import MunimentError
    from muniment_cli.context import Session

    del parameter
    try:
        with ctx.ensure_object(Session).open() as ledger:
            entries = ledger.store.keyring().entries
    except MunimentError:
        return []  # a shell that completes has nobody to complain to
    return [
        CompletionItem(one.keyid, help="+".join(one.roles))
        for one in entries
        if one.until is None and one.keyid.startswith(incomplete)
    ]


def _ask(ctx: click.Context, query: str, prefix: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from muniment.errors import MunimentError
    from muniment_cli.context import Session

    try:
        place = ctx.ensure_object(Session).place()
        rows = _rows(place, query, prefix)
    except (MunimentError, OSError, sqlite3.Error):
        return []  # a shell that completes has nobody to complain to
    names = (cast("str", row[0]) for row in rows)
    return [CompletionItem(name) for name in names if clean(name) == name]


def _rows(place: Path, query: str, prefix: str) -> list[tuple[object, ...]]:
    from muniment.database import open_reader

    with closing(open_reader(place, 0.2)) as connection:
        return connection.execute(query, (prefix, prefix + "\U0010ffff")).fetchall()
