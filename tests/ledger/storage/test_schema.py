"""The classes say what the text says; a published migration never changes."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import Table

from muniment.errors import StoreError
from muniment.formats import tables as tables_module
from muniment.queries import rows as rows_module
from muniment.storage.schema import migrate

CLASSES = (
    rows_module.BlobRow,
    rows_module.CheckpointRow,
    rows_module.EventRow,
    rows_module.SubjectRow,
    rows_module.TileRow,
)
TYPES = {"INTEGER": "INTEGER", "VARCHAR": "TEXT", "BLOB": "BLOB", "TEXT": "TEXT"}


def _table(row: type[rows_module.Row]) -> Table:
    found = row.metadata.tables[str(row.__tablename__)]
    assert isinstance(found, Table)
    return found


@pytest.mark.parametrize("row", CLASSES, ids=lambda row: row.__name__)
def test_a_class_describes_its_table(row: type[rows_module.Row]) -> None:
    """Names, types, NULLs and keys of a class are those of the SQL text."""
    table = _table(row)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(tables_module.SCHEMA[table.name])
        rows = connection.execute(f"PRAGMA table_info({table.name})").fetchall()
    said = [
        (
            column.name,
            str(column.type).replace("VARCHAR", "TEXT").replace("LargeBinary", "BLOB"),
            column.nullable,
            column.primary_key,
        )
        for column in table.columns
    ]
    assert said == [
        (name, kind, not required, bool(key))
        for _, name, kind, required, _, key in rows
    ]


def test_every_table_has_a_class() -> None:
    """No table of the layout is without a class, nor a class without a table."""
    tables = {
        n for n, text in tables_module.SCHEMA.items() if text.startswith("CREATE TABLE")
    }
    assert {str(row.__tablename__) for row in CLASSES} == tables


def test_a_published_migration_never_changes() -> None:
    """The first layout's statements are the ones that files out there were made by."""
    assert tables_module.migration_checksum(1) == (
        "da823a60dfa39fc3f0d73f0058b4284a36626d96dd46388edf506b23d33fbbc6"
    )


def test_migrations_are_numbered_from_one() -> None:
    """Numbers have no gaps and end at the layout's version."""
    numbers = [number for number, _ in tables_module.MIGRATIONS]
    assert numbers == list(range(1, tables_module.LAYOUT_VERSION + 1))


def test_migrating_makes_the_schema_once() -> None:
    """An empty file gets every object; one that is there already is left alone."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for _ in range(2):
            migrate(connection.execute, "memory")
            rows = connection.execute(
                "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"
            )
            assert {row[0]: row[1] for row in rows} == tables_module.SCHEMA
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            assert version == tables_module.LAYOUT_VERSION


def test_a_file_that_is_ahead_is_refused() -> None:
    """A layout of the future is not guessed at."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("PRAGMA user_version = 2")
        with pytest.raises(StoreError, match="layout 2, this muniment knows 1"):
            migrate(connection.execute, "memory")


@pytest.mark.parametrize("table", sorted(str(row.__tablename__) for row in CLASSES))
def test_rows_stay(table: str) -> None:
    """The triggers refuse what would change or remove a row."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for text in tables_module.SCHEMA.values():
            connection.execute(text)
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        values = ", ".join("1" for _ in columns)
        connection.execute(f"INSERT INTO {table} VALUES ({values})")
        for sql in (f"DELETE FROM {table}", f"UPDATE {table} SET {columns[1]} = 2"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(sql)
        if table == "blob":
            connection.execute("UPDATE blob SET data = NULL")
