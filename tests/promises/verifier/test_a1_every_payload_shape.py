"""Whatever is signed and is not exactly a statement is found, and blinds nothing."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies

from forge import RUN, Forge, Row, keyid, make_key, signed
from muniment.trust.home import TrustHome
from muniment.verification import event_pass, tiles
from muniment.verification.runs import completeness
from muniment.verification.verify import Report, verify
from shapes import JSON, mutated, paths, shapes

KEYS = ("writer", "second", "gone", "root", "checkpoint", "stranger")
"""Who signs: two writers, one that is revoked, two with other roles, nobody at all."""


def honest() -> Forge:
    """Return a ledger with a run, writers of every fate, and checkpoints."""
    forge = Forge("one").open()
    forge.enrol("second", ["writer"])
    forge.enrol("gone", ["writer"])
    forge.append(
        "key.revoked",
        {"keyid": keyid(forge.key("gone")), "reason": "stolen"},
        signer=forge.key("root"),
    )
    forge.checkpoint()
    forge.append("run.started", {"name": "x", "seed": "0"}, run=RUN)
    for number in range(3):
        forge.append("x.noted", {"text": f"in the run {number}"}, run=RUN)
    forge.end_run(RUN)
    forge.checkpoint()
    for number in range(3):
        forge.append("x.noted", {"text": f"note {number}"})
    forge.checkpoint()
    return forge


HONEST = honest()
SIZE = len(HONEST.rows)


def signer(name: str) -> Any:
    """Return the key *name* of the ledger, or a stranger's."""
    return make_key("nobody") if name == "stranger" else HONEST.key(name)


def auditor(folder: Path) -> TrustHome:
    """Return a home that pins the root, and keeps an independent memory of the end."""
    home = TrustHome(folder / "home")
    home.pin(HONEST.ledger, keyid(HONEST.key("root")))
    return home


def judged(forge: Forge, folder: Path, *, fast: bool = False) -> Report:
    """Verify *forge* as an auditor does who has an anchor of the honest end."""
    place = folder / "l.db"
    place.unlink(missing_ok=True)
    anchor = folder / "anchor"
    anchor.write_bytes(HONEST.note())
    home = auditor(folder) if not (folder / "home").exists() else folder / "home"
    return verify(forge.write(place), home=home, anchor=anchor, fast=fast)


def refuses(report: Report, where: object) -> None:
    """Assert that nobody takes the ledger for intact."""
    assert report.integrity != "intact", where
    assert (report.ok, report.exit_code) == (False, 1), where


def replaced(seq: int, payload: bytes, key: str) -> Forge:
    """Return the ledger with another row in the place of one; the rest stays."""
    row = HONEST.rows[seq]
    rows = list(HONEST.rows)
    rows[seq] = signed(seq, payload, signer(key), row.type, row.run)
    return HONEST.with_rows(rows, notes=True)


def inserted(seq: int, payload: bytes, key: str) -> Forge:
    """Return a ledger in which the row was written, and others after it, honestly."""
    forge = HONEST.with_rows(list(HONEST.rows[:seq]))
    forge.notes = [note for note in HONEST.notes if note[0] <= seq]
    forge.put(payload, signer(key))
    for number in range(3):
        forge.append("x.noted", {"text": f"after it {number}"})
    forge.checkpoint()
    return forge


def standing(seq: int) -> Any:
    """Return the statement that stands at *seq*."""
    return json.loads(HONEST.rows[seq].payload)


def test_the_honest_ledger_is_intact(tmp_path: Path) -> None:
    """What all of these are changed from is intact, and everything in it compared."""
    report = judged(HONEST, tmp_path)
    assert (report.integrity, report.exit_code) == ("intact", 0), str(report)
    assert report.completeness == "checked"
    assert [(one.what, one.compared) for one in report.counts] == [
        ("rows", SIZE),
        ("signatures", SIZE),
        ("tiles", 0),
        ("checkpoints", 3),
        ("marks", 1),
        ("blobs", 0),
        ("run ends", 1),
        ("places in series", 0),
        ("decisions", 0),
        ("answers of forks", 0),
        ("facts of forks", 0),
        ("calls and children", 0),
    ]
    assert all(one.compared == one.total for one in report.counts)


@pytest.mark.parametrize(
    ("how", "seq"),
    [
        (inserted, SIZE - 2),
        pytest.param(inserted, 5, marks=pytest.mark.slow),
        pytest.param(replaced, 5, marks=pytest.mark.slow),
        pytest.param(replaced, SIZE - 2, marks=pytest.mark.slow),
    ],
)
def test_every_shape(how: Any, seq: int, tmp_path: Path) -> None:
    """Every shape of payload, signed by a writer, is found: in a run, and outside."""
    for name, payload in shapes(standing(seq)):
        report = judged(how(seq, payload, "writer"), tmp_path)
        refuses(report, name)
        assert report.findings[0].seq is not None, name
        assert report.findings[0].seq <= seq, name
        assert any(one.seq == seq for one in report.findings), name


@pytest.mark.slow
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("fast", [False, True])
def test_every_place_and_key(key: str, fast: bool, tmp_path: Path) -> None:
    """At any place and by any key, nothing but the statement of then is taken."""
    for seq in range(SIZE):
        for payload in (b"null", b"{}", b"true", b""):
            report = judged(replaced(seq, payload, key), tmp_path, fast=fast)
            refuses(report, (seq, payload))


@pytest.mark.parametrize("blind", [b"null", b"[]", b"", b'"x"'])
@pytest.mark.parametrize("length", [2, 3, 6])
def test_rows_between_two_of_them(blind: bytes, length: int, tmp_path: Path) -> None:
    """Rows that were replaced between two such rows are found, and so is the end."""
    for seq in range(1, SIZE - length + 1):
        refuses(judged(_between(seq, length, blind), tmp_path), seq)


def _between(seq: int, length: int, blind: bytes) -> Forge:
    forge = HONEST.with_rows(list(HONEST.rows[:seq]))
    forge.put(blind, HONEST.key("writer"))
    while len(forge.rows) < seq + length - 1:
        forge.append("x.noted", {"text": "never was"})
    forge.put(blind, HONEST.key("writer"))
    forge.rows += HONEST.rows[seq + length :]
    forge.notes = list(HONEST.notes)
    return forge


def test_every_comparison_goes_on(tmp_path: Path) -> None:
    """After such a row, roots, counts, links, heads and anchors are still compared."""
    forge = replaced(5, b"null", "writer")
    home = auditor(tmp_path)
    with home.head_memory(HONEST.ledger) as memory:
        memory.advance(SIZE, bytes(32))
    found = {finding.rule for finding in judged(forge, tmp_path).findings}
    assert found >= {
        "event/shape",
        "event/prev",
        "checkpoint/root",
        "anchor/root",
        "head/forked",
        "run/root",
    }


def test_what_was_compared_is_counted(tmp_path: Path) -> None:
    """A row that is not a statement is not counted as compared, nor a root above it."""
    counts = {
        one.what: one for one in judged(replaced(5, b"1", "writer"), tmp_path).counts
    }
    assert counts["rows"].compared == SIZE - 2  # itself, and the one that names it
    assert counts["rows"].total == SIZE
    assert (counts["checkpoints"].compared, counts["checkpoints"].total) == (1, 3)
    assert (counts["run ends"].compared, counts["run ends"].total) == (0, 1)


def test_a_finding_that_nobody_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all who find are blind, what was not compared forbids *intact*."""

    def blind(*_: object, **__: object) -> None:
        return None

    for one, name in (
        (event_pass.EventPass, "_add"),
        (event_pass, "explain"),
        (tiles.Tree, "_bad"),
        (tiles.Tree, "_fork"),
        (completeness.Runs, "_add"),
    ):
        monkeypatch.setattr(one, name, blind)
    report = judged(replaced(5, b"null", "writer"), tmp_path)
    assert [finding.rule for finding in report.findings] == ["verify/uncompared"]
    assert (report.integrity, report.ok, report.exit_code) == ("cannot tell", False, 3)


def rows() -> Iterator[Row]:
    """Yield the rows that may be put elsewhere."""
    yield from HONEST.rows


@settings(max_examples=80)
@given(
    seq=strategies.integers(0, SIZE - 1),
    key=strategies.sampled_from(KEYS),
    how=strategies.sampled_from([replaced, inserted]),
    data=strategies.data(),
)
def test_anything_signed(
    seq: int, key: str, how: Any, data: strategies.DataObject
) -> None:
    """Any value, bytes, or statement with any value in it: never intact."""
    statement = standing(seq)
    path = data.draw(strategies.sampled_from(list(paths(statement))))
    payload = data.draw(
        strategies.binary(max_size=40)
        | JSON.map(lambda value: json.dumps(value).encode())
        | JSON.map(lambda new: json.dumps(mutated(statement, path, new)).encode())
    )
    if payload == HONEST.rows[seq].payload:
        return
    with tempfile.TemporaryDirectory() as folder:
        refuses(judged(how(seq, payload, key), Path(folder)), payload)


@pytest.mark.parametrize("seq", range(1, SIZE))
def test_rows_of_other_places(seq: int, tmp_path: Path) -> None:
    """A valid row in another place, and the genesis twice, are found."""
    for row in rows():
        if row.seq != seq:
            other = list(HONEST.rows)
            other[seq] = replace(row, seq=seq)
            refuses(judged(HONEST.with_rows(other, notes=True), tmp_path), row.seq)
