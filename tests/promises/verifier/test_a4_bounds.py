"""What is larger than it may be, or no file, is found unread; what nobody owns is said."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from attacking import again, small, tampering
from kinds_of_files import KINDS, possible, put, surroundings
from muniment.errors import MunimentError
from muniment.ledger import Ledger
from muniment.verification import verify as verify_module
from muniment.verification.verify import verify

MUNIMENT = str(Path(sys.executable).with_name("muniment"))
LARGE = 120_000_000
MEMORY = """
import resource, sys
from muniment.verification.verify import verify
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
report = verify(sys.argv[1], keys=[sys.argv[2]])
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(grown, report.exit_code, *{finding.rule for finding in report.findings})
"""


@pytest.mark.parametrize(
    ("sql", "rule"),
    [
        ("UPDATE event SET payload = zeroblob(:n) WHERE seq = 7", "event/size"),
        ("UPDATE event SET signature = zeroblob(:n) WHERE seq = 7", "event/column"),
        (
            "UPDATE event SET type = CAST(zeroblob(:n) AS TEXT) WHERE seq = 7",
            "file/size",
        ),
        ("UPDATE blob SET data = zeroblob(:n) WHERE id = 2", "blob/size"),
        ("UPDATE blob SET digest = zeroblob(:n) WHERE id = 2", "blob/column"),
        ("UPDATE checkpoint SET note = zeroblob(:n)", "checkpoint/column"),
    ],
)
@pytest.mark.slow
def test_a_large_value_is_not_read(sql: str, rule: str, tmp_path: Path) -> None:
    """A value of 120 MB in any column is found, and costs no memory."""
    place = small().write(tmp_path / "l.db")
    with tampering(place) as connection:
        connection.execute(sql, {"n": LARGE})
    root = again(small().write(tmp_path / "other.db")).ledger
    assert root is not None
    told = subprocess.run(
        [sys.executable, "-c", MEMORY, str(place), _root()],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "MUNIMENT_HOME": str(tmp_path / "home")},
    ).stdout.split()
    assert told[1] == "1", told
    assert rule in told[2:], told
    assert int(told[0]) < LARGE // 1024 // 2, told


def _root() -> str:
    from forge import Forge, keyid  # noqa: PLC0415

    return keyid(Forge("one").key("root"))


@pytest.mark.parametrize("size", [65_537, 200_000, 2_000_000])
def test_a_payload_above_the_limit(size: int, tmp_path: Path) -> None:
    """A payload above 64 KiB is wrong, and the rows after it are still judged."""
    place = small().write(tmp_path / "l.db")
    with tampering(place) as connection:
        connection.execute(
            "UPDATE event SET payload = zeroblob(?) WHERE seq IN (3, 7)", (size,)
        )
        connection.execute("UPDATE event SET type = 'x.y' WHERE seq = 11")
    report = again(place)
    assert {finding.seq for finding in report.findings} >= {3, 7, 11}
    assert report.events_checked == 15


@pytest.mark.parametrize("kind", possible())
@pytest.mark.timeout(120)
def test_anything_in_the_place_of_a_content(kind: str, tmp_path: Path) -> None:
    """Whatever stands where a content should: verify says wrong, readers refuse."""
    outside = tmp_path / "outside"
    outside.mkdir()
    surroundings(outside)
    place = tmp_path / "work" / ".muniment" / "ledger.db"
    with Ledger.create(place, plugins=()) as ledger:
        event = ledger.append("note.added", {"text": "t", "details": "x" * 2_000_000})
        (content,) = Path(f"{place}.blobs").iterdir()
        put(kind, content, outside)
        with pytest.raises(MunimentError):
            ledger.resolve(event)
    report = verify(place)
    assert report.exit_code == 1, (kind, str(report))
    assert {finding.rule.partition("/")[0] for finding in report.findings} == {"blob"}
    for command in (("events", "show", "1"), ("backup", str(tmp_path / "copy.db"))):
        done = subprocess.run(
            [MUNIMENT, "--ledger", str(place), *command],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        shown = done.stdout + done.stderr
        assert "Traceback" not in shown, (kind, command)
        assert "somebody else keeps" not in shown, (kind, command)


@pytest.mark.parametrize("kind", [kind for kind in possible() if kind in KINDS])
def test_anything_in_the_place_of_the_folder(kind: str, tmp_path: Path) -> None:
    """Whatever stands where the folder of contents should: never intact."""
    outside = tmp_path / "outside"
    outside.mkdir()
    surroundings(outside)
    place = small().write(tmp_path / "l.db")
    put(kind, Path(f"{place}.blobs"), outside)
    report = again(place)
    assert report.exit_code in (1, 3), kind
    assert report.integrity != "intact", kind


def test_many_forged_rows_of_contents(tmp_path: Path) -> None:
    """Thousands of forged rows are findings, no error of the verifier."""
    place = small().write(tmp_path / "l.db")
    with tampering(place) as connection:
        connection.executemany(
            "INSERT INTO blob (digest, seq, data) VALUES (?, -1, NULL)",
            [(number.to_bytes(32),) for number in range(5000)],
        )
    report = again(place)
    assert (report.integrity, report.exit_code) == ("wrong", 1)
    assert report.findings[0].kind == "blob"


def test_strange_names_are_noted(tmp_path: Path) -> None:
    """A name among the large contents that no row has gets a note."""
    place = small().write(tmp_path / "l.db")
    (Path(f"{place}.blobs") / "strange").write_bytes(b"hidden")
    report = again(place)
    assert report.exit_code == 0, str(report)
    assert any("'strange'" in note for note in report.notes)


def test_what_is_planted_between_two_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trigger that appears before the second snapshot is found as well."""
    place = small().write(tmp_path / "l.db")
    recall = vars(verify_module)["recall"]

    def planting(*arguments: Any) -> Any:
        with closing(sqlite3.connect(place)) as connection, connection:
            connection.execute(
                "CREATE TRIGGER late AFTER INSERT ON event BEGIN SELECT 1; END"
            )
        return recall(*arguments)

    monkeypatch.setattr(verify_module, "recall", planting)
    report = again(place)
    assert ([one.rule for one in report.findings], report.exit_code) == (
        ["schema/object"],
        1,
    )
