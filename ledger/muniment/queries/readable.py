"""What those read of the open ledger who run in it: plugins, and programs.

Rule: it is a part of `Ledger`, and gives nothing to write with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:  # what a plugin imports is light
    from collections.abc import Iterator
    from pathlib import Path

    from muniment.formats.statement import BlobRef, Event

__all__ = ["ReadableLedger"]


class ReadableLedger(Protocol):
    """What hooks read of the open `Ledger`, which they get."""

    @property
    def id(self) -> str:
        """``sha256:<hex>`` of the genesis payload."""
        ...

    @property
    def path(self) -> Path:
        """The database file."""
        ...

    def events(
        self,
        *,
        type: str | None = None,  # noqa: A002 - as in `Ledger.events`
        run: str | None = None,
        series: str | None = None,
        limit: int | None = None,
        order: Literal["asc", "desc"] = "asc",
    ) -> Iterator[Event]:
        """Yield the events that pass every filter."""
        ...

    def get_blob(self, ref: BlobRef) -> bytes:
        """Return the content of the blob *ref*."""
        ...

    def value(self, ref: BlobRef) -> object:
        """Return the Python value of the blob *ref*."""
        ...

    def resolve(self, event: Event) -> dict[str, object]:
        """Return the data of *event* with blobs in place of references."""
        ...
