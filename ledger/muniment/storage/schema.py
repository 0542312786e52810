"""The tables of a file: created step by step, and compared before the file is used.

Rules:

- A numbered step that was published never changes (its checksum is in a test), and a
  file from a newer version of muniment is refused, never guessed at.
- The SQL text of every object is compared, byte by byte; planted and altered objects
  are refused alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from muniment.errors import StoreError, WrongError
from muniment.files.sqlite import objects
from muniment.formats.tables import APPLICATION_ID, LAYOUT_VERSION, MIGRATIONS, SCHEMA

__all__ = ["compare_schema", "migrate"]


def compare_schema(execute: Callable[[str], Any], place: str) -> None:
    """Compare the objects in the database behind *execute* with the layout.

    Raises:
        StoreError: it is not a ledger, or has another layout.
        WrongError: the schema was changed.

    """
    application = execute("PRAGMA application_id").fetchone()[0]
    if application != APPLICATION_ID:
        raise StoreError(
            "the database is not a muniment ledger",
            rule="store/not-a-ledger",
            place=place,
            remedy="check the path",
        )
    version = execute("PRAGMA user_version").fetchone()[0]
    if version != LAYOUT_VERSION:
        raise StoreError(
            f"the file has layout {version}, this muniment knows {LAYOUT_VERSION}",
            rule="store/layout",
            place=place,
            remedy="use the muniment that wrote it, or a newer one",
        )
    found = {name: sql for _, name, _, sql in objects(execute) if sql is not None}
    if found != SCHEMA:
        odd = sorted({name for name, _ in found.items() ^ SCHEMA.items()})
        raise WrongError(
            f"the schema was changed: {', '.join(odd)}",
            rule="schema/object",
            place=place,
            remedy="run `muniment verify`; do not write to this file",
        )


def migrate(execute: Callable[[str], Any], place: str) -> None:
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
