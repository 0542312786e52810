"""The numbered steps from an empty file to the tables of a ledger.

Rules: a step that was published never changes (its checksum is in a test), and a file
that is ahead of this version of muniment is refused, never guessed at.
"""

from __future__ import annotations

from sqlalchemy import Connection

from muniment.errors import StoreError
from muniment.layout import APPLICATION_ID, LAYOUT_VERSION, MIGRATIONS

__all__ = ["migrate"]


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
