"""A file whose schema was damaged is said by every command in a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

PLACES = {
    "a text that is quoted in the error of SQLite": (b"CREATE TABLE event", 7),
    "a name": (b"event_no_update", 9),
    "a text that SQLite takes": (b"a ledger is append-only", 3),
    "a column": (b"payload BLOB", 2),
}


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize(
    "command",
    [
        "verify LEDGER",
        "compare LEDGER LEDGER",
        "events",
        "runs",
        "status",
        "checkpoint",
    ],
)
def test_it_is_said(shell: Any, made: Path, where: str, command: str) -> None:
    """One byte that is not UTF-8 is a rule with a remedy, never a bug of ours."""
    text, offset = PLACES[where]
    kept = made.read_bytes()
    at = kept.index(text) + offset
    made.write_bytes(kept[:at] + b"\xff" + kept[at + 1 :])
    done = shell(*(made if one == "LEDGER" else one for one in command.split()))
    said = done.out + done.err
    assert done.code in (1, 3), said
    assert any(rule in said for rule in ("store/corrupt", "schema/object", "file/"))
    assert "cli/bug" not in said
