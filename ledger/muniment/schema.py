"""The rows of a ledger as SQLModel classes, and the steps that make the tables.

Rules:

- The classes describe the tables for queries; `layout` holds the SQL text that counts,
  and a test holds the two against each other.
- They live under a registry of their own, so that a program's own SQLModel tables may
  bear any name.
- Migrations are numbered and checksummed; a file that is ahead of this version of
  muniment is refused, never guessed at.
"""

from __future__ import annotations

from sqlalchemy import Connection
from sqlalchemy.orm import declared_attr, registry
from sqlmodel import Field, SQLModel

from muniment.errors import StoreError
from muniment.layout import APPLICATION_ID, LAYOUT_VERSION, MIGRATIONS

__all__ = ["BlobRow", "CheckpointRow", "EventRow", "SubjectRow", "TileRow", "migrate"]


class Row(SQLModel, registry=registry()):
    """The base of all rows; the table of an ``EventRow`` is ``event``."""

    @declared_attr.directive
    def __tablename__(  # pyright: ignore[reportIncompatibleVariableOverride]
        cls,  # noqa: N805 - SQLAlchemy calls it with the class
    ) -> str:
        """Return the name of the table."""
        return cls.__name__.removesuffix("Row").lower()


class EventRow(Row, table=True):
    """One event: its signed bytes, and the two columns that queries filter by."""

    seq: int = Field(primary_key=True)
    type: str
    run: str | None = None
    payload: bytes
    signature: bytes
    key: bytes
    hash: bytes


class SubjectRow(Row, table=True):
    """One subject of a statement."""

    seq: int = Field(primary_key=True)
    digest: bytes = Field(primary_key=True)


class BlobRow(Row, table=True):
    """One salted content, or its empty place after an erasure."""

    id: int = Field(primary_key=True)
    digest: bytes = Field(index=True, unique=True)
    seq: int
    data: bytes | None = None


class TileRow(Row, table=True):
    """The root of one complete subtree of 256^level leaves."""

    level: int = Field(primary_key=True)
    idx: int = Field(primary_key=True)
    hash: bytes


class CheckpointRow(Row, table=True):
    """One signed tree head."""

    size: int = Field(primary_key=True)
    note: bytes


def migrate(connection: Connection, place: str) -> None:
    """Bring the database behind *connection* to this layout, inside a transaction.

    Raises:
        StoreError: the file was made by a newer muniment, or is not a ledger.

    """
    version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
    if version > LAYOUT_VERSION:
        raise StoreError(
            f"the file has layout {version}, this muniment knows {LAYOUT_VERSION}",
            rule="store/newer",
            place=place,
            remedy="use a newer muniment",
        )
    for number, statements in MIGRATIONS:
        if number <= version:
            continue
        for text in statements:
            connection.exec_driver_sql(text)
        connection.exec_driver_sql(f"PRAGMA user_version = {number}")
    connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
