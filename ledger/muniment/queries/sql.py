"""Read-only SQL over documented views; an authorizer allows nothing else.

    result = run_sql(path, "SELECT kind, count(*) FROM effects GROUP BY kind")
    result.columns      ("kind", "count(*)")
    result.rows         [("llm", 3), ("tool", 1)]

Rules:

- The connection is SQLite's own, read-only. The authorizer, which SQLite asks for each
  table, function and action while it compiles a statement, allows SELECT on the views
  of `muniment.queries.views` and the functions named here. Everything else is refused.
- Only the views read tables. SQLite tells the authorizer the *name* of the view that
  reads, and a statement may give its own table expression any name: so the views that
  read tables have random names, and the documented ones select from them.
- If no column is read, SQLite names the table and no view (``count(*)``): that is
  allowed unless the statement itself spells the table's name.
- One statement, which begins with SELECT, WITH or VALUES. Time, rows and bytes of an
  answer are limited; so are the lengths of values that functions may build.
"""

from __future__ import annotations

import re
import secrets
import sqlite3
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from muniment.errors import MunimentError, RefusedError, UsageError
from muniment.queries.views import FUNCTIONS_OF_VIEWS, VIEWS
from muniment.storage.connections import open_reader, translated

__all__ = ["FUNCTIONS", "Cell", "SqlResult", "columns_of_views", "run_sql"]

Cell: TypeAlias = "str | int | float | bytes | None"

_NAMES = (
    "abs avg ceil char coalesce concat concat_ws count cume_dist date datetime "
    "dense_rank first_value floor format glob group_concat hex ifnull iif instr json "
    "json_array json_array_length json_each json_extract json_group_array "
    "json_group_object json_object json_quote json_tree json_type json_valid julianday "
    "lag last_value lead length like lower ltrim max min nth_value ntile nullif "
    "percent_rank printf rank replace round row_number rtrim sign strftime string_agg "
    "substr substring sum time total trim typeof unhex unicode unixepoch upper -> ->>"
)
FUNCTIONS = frozenset(_NAMES.split())
"""The functions that a statement may call."""

BYTES = 64 * 1024 * 1024
"""The largest answer."""

_TABLE_FUNCTIONS = frozenset({"json_each", "json_tree"})
_TABLES = frozenset({"blob", "checkpoint", "event", "subject"})
"""The tables that the views read; no view or column has one of these names."""

_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 8 * 1024 * 1024,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_FIRST_WORD = re.compile(r"(?:\s+|--[^\n]*(?:\n|$)|/\*.*?\*/)*([a-zA-Z]*)", re.DOTALL)
_STEPS = 5000
"""How many SQLite VM instructions run between two looks at the clock."""


@dataclass(frozen=True, slots=True)
class SqlResult:
    """The answer to one statement."""

    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]
    truncated: bool
    """Whether there were more rows than the limit allows."""


@dataclass(slots=True)
class _Gate:
    """The authorizer of one statement."""

    secret: str
    """The beginning of the names of the views that may read tables."""
    objects: frozenset[str]
    """Every table and table-valued function that exists, in lower case."""
    words: frozenset[str]
    """Every word of the statement, in lower case."""
    refused: list[str] = field(default_factory=list[str])

    def __call__(
        self,
        action: int,
        one: str | None,
        two: str | None,
        _database: str | None,
        view: str | None,
    ) -> int:
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION:
            is_ours = two in FUNCTIONS_OF_VIEWS
            of_views = is_ours and (view or "").startswith(self.secret)
            if (two or "").lower() in FUNCTIONS or of_views:
                return sqlite3.SQLITE_OK
            return self._refuse(f"the function {two}")
        if action == sqlite3.SQLITE_READ:
            if self._may_read(one or "", two or "", view or ""):
                return sqlite3.SQLITE_OK
            return self._refuse(f"the table {one}")
        return self._refuse("anything but SELECT")

    def _may_read(self, table: str, column: str, view: str) -> bool:
        if table in VIEWS or table in _TABLE_FUNCTIONS or view.startswith(self.secret):
            return True
        if table.startswith(self.secret):
            return view in VIEWS
        name = table.lower()
        if column or name.startswith(("sqlite_", "pragma_")):
            return False
        if name in _TABLES:
            return name not in self.words
        # A table expression of the statement itself, none of whose columns is read.
        return name not in self.objects

    def _refuse(self, what: str) -> int:
        self.refused.append(what)
        return sqlite3.SQLITE_DENY


def run_sql(
    path: Path, statement: str, *, limit: int = 1000, timeout: float = 10.0
) -> SqlResult:
    """Return the rows that *statement* selects from the ledger file *path*.

    Args:
        path: a ledger file whose schema was compared.
        statement: one SELECT over the documented views.
        limit: the largest number of rows to return.
        timeout: seconds after which the statement is stopped.

    Raises:
        UsageError: the statement is not SQL, or names something that is not there.
        RefusedError: it reads or does something forbidden, or takes too long.
        StoreError: the database cannot be read.

    """
    _require_select(statement)
    with closing(open_reader(path, 60.0)) as connection:
        gate = _prepare(connection, statement)
        late = _deadline(connection, timeout)
        connection.set_authorizer(gate)
        with _refusals(gate, late, timeout, path):
            cursor = connection.execute(statement)
            columns = tuple(str(one[0]) for one in cursor.description or ())
            rows, truncated = _fetch(cursor, limit)
    return SqlResult(columns, rows, truncated)


def columns_of_views(path: Path) -> dict[str, tuple[str, ...]]:
    """Return view → columns, in order, as a statement on *path* sees them."""
    return {
        name: run_sql(path, f"SELECT * FROM {name}", limit=0).columns  # noqa: S608 - our own names
        for name in VIEWS
    }


def _require_select(statement: str) -> None:
    found = _FIRST_WORD.match(statement)
    word = "" if found is None else found[1].upper()
    if word not in ("SELECT", "WITH", "VALUES"):
        raise UsageError(
            f"a query begins with SELECT, not with {word or 'nothing'}",
            rule="query/select",
            remedy=f"select from {', '.join(VIEWS)}",
        )


def _prepare(connection: sqlite3.Connection, statement: str) -> _Gate:
    """Make the views, and the gate that hides everything else from a statement."""
    for category, most in _LIMITS.items():
        connection.setlimit(category, most)
    secret = f"_{secrets.token_hex(16)}_"
    for name, function in FUNCTIONS_OF_VIEWS.items():
        connection.create_function(name, 1, function, deterministic=True)
    for name, select in VIEWS.items():
        connection.execute(f"CREATE TEMP VIEW {secret}{name} AS {select}")
        connection.execute(
            f"CREATE TEMP VIEW {name} AS SELECT * FROM temp.{secret}{name}"  # noqa: S608 - our own names
        )
    rows = connection.execute(
        "SELECT name FROM sqlite_schema UNION SELECT name FROM pragma_module_list"
    )
    objects = frozenset(str(row[0]).lower() for row in rows)
    # SQLite declares these on first use, by reading its own schema table.
    connection.execute("SELECT 1 FROM json_each('[]'), json_tree('[]')").fetchall()
    connection.execute("PRAGMA query_only=ON")
    return _Gate(secret, objects, frozenset(re.findall(r"\w+", statement.lower())))


def _deadline(connection: sqlite3.Connection, timeout: float) -> list[bool]:
    """Stop whatever runs after *timeout* seconds, and say so in the list."""
    late: list[bool] = []
    end = time.monotonic() + timeout

    def look() -> int:
        if time.monotonic() > end:
            late.append(True)
            return 1
        return 0

    connection.set_progress_handler(look, _STEPS)
    return late


def _fetch(cursor: sqlite3.Cursor, limit: int) -> tuple[list[tuple[Cell, ...]], bool]:
    rows: list[tuple[Cell, ...]] = []
    size = 0
    for row in cursor:
        if len(rows) >= limit:
            return rows, True
        size += sum(len(cell) for cell in row if isinstance(cell, (str, bytes)))
        if size > BYTES:
            raise RefusedError(
                f"the answer is larger than {BYTES >> 20} MiB",
                rule="query/size",
                place=f"row {len(rows)}",
                remedy="select fewer columns or rows",
            )
        rows.append(tuple(row))
    return rows, False


@contextmanager
def _refusals(
    gate: _Gate, late: list[bool], timeout: float, path: Path
) -> Generator[None]:
    """Say in our words why SQLite refused."""
    with translated(str(path)):
        try:
            yield
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            refusal = _refusal(error, gate, late, timeout)
            if refusal is None:
                raise
            raise refusal from error


def _refusal(
    error: Exception, gate: _Gate, late: list[bool], timeout: float
) -> MunimentError | None:
    """Return what *error* means to the caller; None for the database's own errors."""
    if gate.refused:
        return RefusedError(
            f"a query may not use {gate.refused[0]}",
            rule="query/forbidden",
            remedy=f"select from {', '.join(VIEWS)}; see docs/reference/query.md",
        )
    if late:
        return RefusedError(
            f"the query was stopped after {timeout:g} s",
            rule="query/time",
            remedy="narrow it by seq, type or run, or allow more with --timeout",
        )
    code = getattr(error, "sqlite_errorcode", None)
    if isinstance(error, sqlite3.DataError) or code == sqlite3.SQLITE_NOMEM:
        return RefusedError(
            f"a value or the statement is too large ({error})",
            rule="query/size",
            remedy="build shorter values",
        )
    if code in (None, sqlite3.SQLITE_ERROR):
        return UsageError(
            str(error),
            rule="query/sql",
            remedy="`muniment query` alone lists the views and their columns",
        )
    return None
