"""The numbered steps from an empty file to the tables of a ledger.

Rules: a step that was published never changes (its checksum is in a test), and a file
that is ahead of this version of muniment is refused, never guessed at.
"""

from __future__ import annotations

from muniment.database import Execute
from muniment.errors import StoreError
from muniment.layout import APPLICATION_ID, LAYOUT_VERSION, MIGRATIONS

__all__ = ["migrate"]


def migrate(execute: Execute, place: str) -> None:
    """Bring the database behind *execute* to this layout, inside a transaction.

    Raises:
        StoreError: the file was made by a newer muniment, or is not a ledger.

    """
    version = execute("PRAGMA user_version").fetchone()[0]
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
            execute(text)
        execute(f"PRAGMA user_version = {number}")
    execute(f"PRAGMA application_id = {APPLICATION_ID}")
