"""``muniment query``: read-only SQL over documented views.

Rules: rows and time are limited; stderr says if rows were cut off. Without a statement
the views and their columns are listed; ``-`` reads it from stdin.
"""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import SecondsRange, examples, json_option, jsonl_option
from muniment_cli.terminal.output import (
    clean,
    fields,
    hint,
    interactive,
    show_json,
    show_jsonl,
    table,
)

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.queries.sql import Cell, SqlResult

__all__ = ["command"]


@click.command(
    "query",
    epilog=examples(
        "muniment query 'SELECT kind, count(*) FROM effects GROUP BY kind'",
        "muniment query --csv 'SELECT seq, type, time FROM events LIMIT 9'",
        "muniment query     # lists the views and their columns",
    ),
)
@click.argument("sql", required=False)
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values.")
@json_option
@jsonl_option
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=1000,
    show_default=True,
    help="At most this many rows.",
)
@click.option(
    "--timeout",
    type=SecondsRange(min=0, min_open=True, max=3600),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Stop the query after this time.",
)
@pass_session
def command(  # noqa: PLR0913, PLR0917 - click hands over one for each option
    session: Session,
    sql: str | None,
    as_csv: bool,
    as_json: bool,
    as_jsonl: bool,
    limit: int,
    timeout: float,
) -> int:
    """Run read-only SQL over documented views.

    The views are artifacts, checkpoints, effects, events, llm_calls and runs; a
    statement may SELECT from them and call functions, nothing else.
    """
    from muniment.queries.sql import columns_of_views, run_sql

    with session.open() as ledger:
        if sql is None:
            views = columns_of_views(ledger.path)
            if as_json:
                show_json(views)
            else:
                fields((name, " ".join(columns)) for name, columns in views.items())
            return 0
        statement = sys.stdin.read() if sql == "-" else sql
        result = run_sql(ledger.path, statement, limit=limit, timeout=timeout)
    if as_csv:
        _show_csv(result)
    elif as_json:
        show_json(_objects(result))
    elif as_jsonl:
        show_jsonl(_objects(result))
    else:
        _show_table(result)
    if result.truncated:
        hint(f"there are more than {limit} rows; allow more with --limit")
    return 0


def _show_table(result: SqlResult) -> None:
    numeric = [
        name
        for position, name in enumerate(result.columns)
        if result.rows and all(_is_number(row[position]) for row in result.rows)
    ]
    table(
        result.columns,
        (list(map(_text, row)) for row in result.rows),
        right=numeric,
        upright=True,
    )


def _show_csv(result: SqlResult) -> None:
    shown = clean if interactive() else str
    for row in (result.columns, *result.rows):
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(
            [shown(_text(cell)) for cell in row]
        )
        click.echo(line.getvalue().encode("utf-8", "backslashreplace"), nl=False)


def _objects(result: SqlResult) -> list[dict[str, JsonValue]]:
    names = _distinct(result.columns)
    return [
        {name: _json(cell) for name, cell in zip(names, row, strict=True)}
        for row in result.rows
    ]


def _distinct(columns: Sequence[str]) -> list[str]:
    """Return *columns* with a number after each repeated name."""
    seen: dict[str, int] = {}
    names: list[str] = []
    for column in columns:
        seen[column] = seen.get(column, 0) + 1
        again = seen[column] - 1
        names.append(f"{column}:{again}" if again else column)
    return names


def _json(cell: Cell) -> JsonValue:
    """Return *cell* as JSON; bytes as hex, and floats that JSON lacks as text."""
    if isinstance(cell, bytes):
        return cell.hex()
    if isinstance(cell, float) and not math.isfinite(cell):
        return str(cell)
    return cell


def _text(cell: Cell) -> str:
    if cell is None:
        return ""
    return cell.hex() if isinstance(cell, bytes) else str(cell)


def _is_number(cell: Cell) -> bool:
    return cell is None or isinstance(cell, (int, float))
