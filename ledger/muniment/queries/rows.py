"""The rows of a ledger as SQLModel classes, for writing audit queries.

Rules:

- The classes describe the tables for queries; `muniment.formats.tables` has the SQL
  text that counts, and a test compares the two.
- They have a registry of their own, so that a program's own SQLModel tables may have
  any name.
- Only queries import this module: loading SQLModel takes longer than all the rest.
"""

from __future__ import annotations

from sqlalchemy.orm import declared_attr, registry
from sqlmodel import Field, SQLModel

__all__ = ["BlobRow", "CheckpointRow", "EventRow", "SubjectRow", "TileRow"]


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
    """One salted content, or its empty row after an erasure."""

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
