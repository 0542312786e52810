"""SQLModel sessions over the tables of a ledger, which can read and nothing else.

    with reading(database) as session:
        rows = session.exec(select(EventRow).where(EventRow.type == "llm.completed"))

Rules:

- The file is opened ``mode=ro``, and its schema was compared. An authorizer, which SQLite
  asks while it compiles a statement, allows SELECT and the transactions of the toolkit;
  everything else is refused, other files (``ATTACH``) and settings (``PRAGMA``) too.
- Errors are ours, as everywhere.
- Only `Ledger.session` imports this module: loading SQLModel takes longer than all the
  rest.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager

from sqlalchemy import create_engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.pool import StaticPool
from sqlmodel import Session

from muniment.errors import MunimentError, RefusedError, UsageError
from muniment.storage.connections import Database, open_reader, translated

__all__ = ["reading"]

_READS = frozenset(
    (
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_RECURSIVE,
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_TRANSACTION,
    )
)


@contextmanager
def reading(database: Database) -> Generator[Session]:
    """Lend a session over *database*, for one thread at a time.

    Raises:
        StoreError: the file cannot be read.

    """
    refused: list[int] = []

    def allow(action: int, *_: str | None) -> int:
        if action in _READS:
            return sqlite3.SQLITE_OK
        refused.append(action)
        return sqlite3.SQLITE_DENY

    def say(context: ExceptionContext) -> MunimentError | None:
        return _said(context.original_exception, database, refused)

    with closing(open_reader(database.path, database.timeout)) as connection:
        engine = create_engine(
            "sqlite://", creator=lambda: connection, poolclass=StaticPool
        )
        event.listen(engine, "handle_error", say)
        with engine.connect() as lent:  # the toolkit asks for settings once, before
            connection.set_authorizer(allow)
            with Session(lent) as session:
                yield session


def _said(
    error: BaseException, database: Database, refused: list[int]
) -> MunimentError | None:
    """Return our error for one of the driver; None for what is none of its."""
    if not isinstance(error, sqlite3.Error):
        return None
    place = str(database.path)
    if refused:
        refused.clear()
        return RefusedError(
            "a session over a ledger only reads",
            rule="query/forbidden",
            place=place,
            remedy="select from its rows; what is new is appended: ledger.append(…)",
        )
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR:
        return UsageError(
            str(error),
            rule="query/sql",
            place=place,
            remedy="docs/reference/api.md lists the rows and their columns",
        )
    try:
        with translated(place):
            raise error
    except MunimentError as ours:
        return ours
