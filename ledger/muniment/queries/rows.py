"""The rows of a ledger as SQLModel classes, for audit queries with `Ledger.session`.

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
    """Position in the ledger, from 0 without gaps."""
    type: str
    """``noun.past_participle``, as the payload says."""
    run: str | None = None
    """The run's id, as the payload says."""
    payload: bytes
    """The signed statement: canonical JSON."""
    signature: bytes
    """The Ed25519 signature over payload and payload type (DSSE)."""
    key: bytes
    """The signer's raw public key."""
    hash: bytes
    """The RFC 6962 leaf hash."""


class SubjectRow(Row, table=True):
    """One subject of a statement: what an event is about, besides its own data."""

    seq: int = Field(primary_key=True)
    """The event."""
    digest: bytes = Field(primary_key=True)
    """SHA-256 of the thing, or of the key of a series."""


class BlobRow(Row, table=True):
    """One salted content, or its empty row after an erasure."""

    id: int = Field(primary_key=True)
    """A number of the table alone; nothing refers to it."""
    digest: bytes = Field(index=True, unique=True)
    """The commitment: SHA-256 over salt and content."""
    seq: int
    """The event with which it was written."""
    data: bytes | None = None
    """Salt (32 bytes) and content; NULL if erased, or in a file of its own."""


class TileRow(Row, table=True):
    """The root of one complete subtree of 256^level leaves."""

    level: int = Field(primary_key=True)
    """From 1."""
    idx: int = Field(primary_key=True)
    """Its number on that level, from 0."""
    hash: bytes
    """The root of the subtree."""


class CheckpointRow(Row, table=True):
    """One signed tree head."""

    size: int = Field(primary_key=True)
    """How many events it covers."""
    note: bytes
    """The C2SP signed note."""
