"""No reader takes more of a content than its reference states."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from attacking import tampering
from forge import Forge
from muniment import Run
from muniment.errors import WrongError
from muniment.formats.statement import BlobRef
from muniment.ledger import Ledger

pytest.importorskip("resource")

SIZES = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
from muniment_cli import main
sys.exit(main(sys.argv[1:]))
"""
LARGE = 8 << 30
TAKEN_AWAY = "UPDATE blob SET data = NULL"
READ_ELSEWHERE = "UPDATE blob SET data = NULL, seq = 0"
GROWN = "UPDATE blob SET data = zeroblob(3000000)"
TEXT = "UPDATE blob SET data = 'text'"


@pytest.mark.parametrize("sql", [TAKEN_AWAY, READ_ELSEWHERE, GROWN, TEXT])
def test_no_more_is_read_than_a_reference_states(sql: str, tmp_path: Path) -> None:
    """8 GiB in the place of a small content: readers refuse it by its size, unread."""
    place = tmp_path / "work" / "ledger.db"
    with Ledger.create(place, plugins=()) as ledger:
        event = ledger.append("note.added", {"text": "t", "details": "small"})
        run = ledger.execute(_answered).run_id
        ref = BlobRef.from_json(cast("dict[str, Any]", event.raw["details"]))
    with tampering(place) as connection:
        connection.execute(sql)
        digests = connection.execute("SELECT hex(digest) FROM blob").fetchall()
    folder = Path(f"{place}.blobs")
    folder.mkdir()
    for (digest,) in digests:
        (folder / digest.lower()).touch()
        os.truncate(folder / digest.lower(), LARGE)
    for line in (
        ("events", "show", "1"),
        ("events", "show", "1", "--json"),
        ("runs", "show", run),
        ("backup", str(tmp_path / "copy.db")),
        ("replay", run, "--trust-program"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", SIZES, "--ledger", str(place), *line],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        shown = done.stdout + done.stderr
        assert "Traceback" not in shown, (line, shown)
        assert "emory" not in shown, (line, shown)
    with Ledger.open(place) as ledger:
        for given in (ref.digest, ref, ref.to_json()):
            with pytest.raises(WrongError, match="blob/commitment"):
                ledger.get_blob(given)


def _answered(run: Run) -> str:
    return str(run.effect("tool", {"name": "x"}, lambda _: "an answer"))


def test_a_reference_to_more_than_fits(tmp_path: Path) -> None:
    """A writer may state any size: what does not fit into memory is said in one line."""
    forge = Forge("one").open()
    tag = "sha256:" + "ab" * 32
    forge.blobs.append((bytes.fromhex("ab" * 32), 1, None))
    details = {"$blob": tag, "size": LARGE - 32}
    forge.append("note.added", {"text": "t", "details": details})
    place = forge.write(tmp_path / "ledger.db")
    folder = Path(f"{place}.blobs")
    folder.mkdir()
    (folder / ("ab" * 32)).touch()
    os.truncate(folder / ("ab" * 32), LARGE)
    for line in (
        ("events", "show", "1", "--json"),
        ("backup", str(tmp_path / "copy.db")),
    ):
        done = subprocess.run(
            [sys.executable, "-c", SIZES, "--ledger", str(place), *line],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        shown = done.stdout + done.stderr
        assert "more than fit into memory" in shown, (line, shown)
        assert "Traceback" not in shown, (line, shown)
        assert "bug" not in shown, (line, shown)
