"""Evidence of odd sizes and spellings is judged: a verifier neither breaks nor drowns."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from rich.console import Console

from attacking import check
from forge import RUN, Forge, keyid
from muniment.errors import CannotTellError
from muniment.ledger import Ledger
from muniment.verification.given import given_notes
from muniment.verification.verify import verify
from muniment_cli.views import timeline

EDGES = sorted(
    sign * (1 << bits) + more
    for bits in (7, 31, 32, 53, 62, 63)
    for sign in (1, -1)
    for more in (-1, 0, 1)
    if -(1 << 63) <= sign * (1 << bits) + more < 1 << 63
)


def written(place: Path) -> tuple[Forge, Path]:
    """Write an honest ledger of a few events."""
    forge = Forge("one").open()
    for number in range(3):
        forge.append("note.added", {"text": str(number)})
    forge.checkpoint()
    return forge, forge.write(place / "l.db")


@pytest.mark.parametrize("seq", EDGES)
def test_a_row_of_any_number_is_a_finding(tmp_path: Path, seq: int) -> None:
    """Insert a row at every edge of the integers."""
    forge, path = written(tmp_path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT INTO event SELECT ?, type, run, payload, signature, key, hash "
            "FROM event WHERE seq = 3",
            (seq,),
        )
    for fast in (False, True):
        report = verify(path, keys=[keyid(forge.key("root"))], fast=fast)
        assert report.exit_code == 1
        assert "event/seq" in {finding.rule for finding in report.findings}


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
def test_the_encoding_of_a_file_is_named(tmp_path: Path, encoding: str) -> None:
    """Write the same rows in another encoding: nothing was replaced."""
    forge, path = written(tmp_path)
    other = tmp_path / "other.db"
    with (
        closing(sqlite3.connect(path)) as source,
        closing(sqlite3.connect(other)) as target,
    ):
        target.execute(f"PRAGMA encoding = '{encoding}'")
        for line in source.iterdump():
            if line.startswith(("CREATE", "INSERT")):
                target.execute(line)
        for pragma in ("application_id", "user_version"):
            (value,) = source.execute(f"PRAGMA {pragma}").fetchone()
            target.execute(f"PRAGMA {pragma} = {value}")
        target.commit()
    report = verify(other, keys=[keyid(forge.key("root"))])
    if encoding == "UTF-8":
        assert report.exit_code == 0, str(report)
        return
    (finding,) = report.findings
    assert (report.exit_code, finding.rule) == (3, "file/unreadable")
    assert encoding in finding.message


@pytest.mark.parametrize(
    "text",
    [
        '{"note":' * 100_000,
        '{"note":' * 20_000 + "1" + "}" * 20_000,
        '{"note":' + "9" * 6_000 + "}",
        '{"note":"\\ud800"}',
        '{"note":NaN}',
        '{"note":{}}',
        "{}",
    ],
    ids=lambda text: text[:20],
)
def test_an_anchor_of_any_shape_is_cannot_tell(tmp_path: Path, text: str) -> None:
    """Give what is not a line with a note, however deep."""
    forge, path = written(tmp_path)
    anchor = tmp_path / "anchor"
    anchor.write_text(text)
    report = verify(path, keys=[keyid(forge.key("root"))], anchor=anchor)
    assert report.exit_code == 3
    assert "anchor/format" in {finding.rule for finding in report.findings}


@pytest.mark.parametrize("name", ["sparse", "/dev/zero"])
def test_no_more_of_an_anchor_is_read_than_one_has(tmp_path: Path, name: str) -> None:
    """Give files that have no end, or a far one."""
    path = tmp_path / name
    if not path.exists():
        with path.open("wb") as file:
            file.truncate(1 << 40)
    with pytest.raises(CannotTellError, match="MiB") as caught:
        given_notes(path)
    assert caught.value.rule == "anchor/format"


@pytest.mark.parametrize("depth", [1, 32, 33, 5_000])
def test_a_scope_of_any_depth_is_drawn(
    tmp_path: Path, depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Draw what a writer may sign, though nobody could see it nested."""
    forge = Forge("one").open()
    forge.append("run.started", {"name": "x", "seed": "00"}, run=RUN)
    scope = "/".join(["a"] * depth)
    forge.append("x.noted", {"text": "deep"}, run=RUN, scope=scope)
    path = tmp_path / "l.db"
    assert check(forge, path).exit_code == 0
    with Ledger.open(path, readonly=True) as ledger:
        events = list(ledger.events(run=RUN))
    console = Console(record=True, width=200)
    monkeypatch.setattr(timeline, "console", lambda: console)
    timeline.show_tree("run", events)
    assert "x.noted" in console.export_text()
