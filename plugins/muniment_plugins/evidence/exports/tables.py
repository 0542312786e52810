"""A run as a table: a row for each event, as CSV or as Parquet.

Rules:

- ``data`` is the data of the event as it was signed (canonical JSON, RFC 8785), ``contents``
  an object with the content of each blob in it. So no event is without a place.
- ``encoding`` says how each of the contents is written, and has the same fields: ``json``
  is the value of canonical JSON, ``text`` the text of UTF-8, ``base64`` any bytes.
- ``missing`` has each blob that ``contents`` has not: why, and its commitment. Nothing in
  ``contents`` stands for anything else, whatever it looks like.
- The last row has the type ``export.coverage`` and no ``seq``, and says how many events
  there are, and what the run is marked with: a table that was cut off lacks it. Parquet has
  that in its metadata, under ``muniment``.
- In CSV (RFC 4180), a text that a spreadsheet would take for a formula, and one that
  begins with an apostrophe, gets an apostrophe before it. Take the first one away to have
  what was recorded.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any

from muniment.encoding.canonical import canonical
from muniment.keys.ed25519 import PublicKey
from muniment_plugins.evidence.exports.record import ExportedRun, needed, pairs

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment_plugins.evidence.report.record import Source

__all__ = ["COLUMNS", "COVERAGE", "as_csv", "as_parquet", "plain_cell"]

COLUMNS = (
    *("seq", "time", "type", "version", "run", "scope", "ordinal", "effect"),
    *("actor", "tenant", "leaf_hash", "key_id", "data", "contents"),
    *("encoding", "missing"),
)
COVERAGE = "export.coverage"
_NUMBERS = {"seq", "version", "ordinal"}
_FORMULA = re.compile(r"[\s\x00-\x20]*[=+\-@'\uff1d\uff0b\uff0d\uff20]|[\t\r]")
"""What spreadsheets may take for a formula, full-width and behind spaces, too."""

Row = dict[str, object]


def rows(record: ExportedRun) -> Iterator[Row]:
    """Yield the row of each event."""
    for event, effect in pairs(record):
        contents = record.contents(event)
        yield {
            "seq": event.seq,
            "time": event.time,
            "type": event.type,
            "version": event.version,
            "run": event.run,
            "scope": event.scope,
            "ordinal": event.ordinal,
            "effect": effect,
            "actor": event.actor,
            "tenant": event.tenant,
            "leaf_hash": event.hash,
            "key_id": PublicKey(event.key).keyid,
            "data": canonical(event.raw).decode(),
            "contents": canonical(contents.held).decode(),
            "encoding": canonical(contents.encoding).decode(),
            "missing": canonical(contents.missing).decode(),
        }


def as_csv(ledger: Source, run: str) -> bytes:
    """Return the run as CSV in UTF-8 with a head line."""
    record = ExportedRun.of(ledger, run)
    text = io.StringIO(newline="")
    table = csv.DictWriter(text, COLUMNS, lineterminator="\r\n")
    table.writeheader()
    for row in rows(record):
        table.writerow({name: _cell(value) for name, value in row.items()})
    said = canonical(_about(record)).decode()
    empty = dict.fromkeys(("contents", "encoding", "missing"), "{}")
    table.writerow({"type": COVERAGE, "run": run, "data": said, **empty})
    return text.getvalue().encode()


def _about(record: ExportedRun) -> dict[str, JsonValue]:
    """Return what a table says of the run as a whole."""
    told = {"coverage": record.coverage(), "ledger": record.ledger.id}
    return {**told, "marks": [*record.marks]}


def _cell(value: object) -> object:
    guarded = isinstance(value, str) and _FORMULA.match(value) is not None
    return f"'{value}" if guarded else value


def plain_cell(text: str) -> str:
    """Return what was recorded, of a text in a CSV export."""
    return text.removeprefix("'")


def as_parquet(ledger: Source, run: str) -> bytes:
    """Return the run as an Apache Parquet file.

    Raises:
        CannotTellError: pyarrow is not installed.

    """
    try:
        pa: Any = import_module("pyarrow")
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError:
        raise needed("pyarrow", "parquet") from None
    record = ExportedRun.of(ledger, run)
    told = list(rows(record))
    columns: dict[str, Any] = {}
    for name in COLUMNS:
        kind: Any = pa.int64() if name in _NUMBERS else pa.string()
        values = [row[name] for row in told]
        if name == "time":
            kind = pa.timestamp("us", tz="UTC")
            values = [_instant(str(one)) for one in values]
        columns[name] = pa.array(values, kind)
    said = canonical({**_about(record), "run": run})
    table = pa.table(columns).replace_schema_metadata({b"muniment": said})
    buffer = io.BytesIO()
    parquet.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def _instant(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
