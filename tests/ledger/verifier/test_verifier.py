"""The verifier on intact ledgers, and in each situation of trust."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from attacking import small, tampering
from forge import Forge, keyid, make_key, raw
from muniment.keys.ed25519 import PublicKey
from muniment.ledger import Ledger
from muniment.trust.home import TrustHome
from muniment.verification.verify import Report, verify


@pytest.fixture
def forge() -> Forge:
    """Return a ledger with every kind of thing in it."""
    return small()


@pytest.fixture
def path(tmp_path: Path, forge: Forge) -> Path:
    """Return the file of the ledger."""
    return forge.write(tmp_path / "ledger.db")


@pytest.fixture
def home(tmp_path: Path) -> TrustHome:
    """Return a trust home that knows nothing."""
    return TrustHome(tmp_path / "home")


def pin(home: TrustHome, forge: Forge, path: Path | None = None) -> None:
    """Make *home* know the ledger, as its creator's home does."""
    home.pin(forge.ledger, keyid(forge.key("root")))
    if path is not None:
        home.remember(str(path), forge.ledger)
        with home.head_memory(forge.ledger) as memory:
            memory.advance(len(forge.rows), forge.rows[-1].hash)


def said(report: Report) -> tuple[str, str, str, int, bool]:
    """Return the row of the table of trust."""
    return (
        report.integrity,
        report.authenticity,
        report.completeness,
        report.exit_code,
        report.ok,
    )


def rules(report: Report) -> list[tuple[str, int | None]]:
    """Return rule and seq of each finding."""
    return [(finding.rule, finding.seq) for finding in report.findings]


@pytest.mark.parametrize("fast", [False, True])
def test_intact_pinned_and_remembered(
    path: Path, forge: Forge, home: TrustHome, fast: bool
) -> None:
    """A pinned ledger that matches the head memory passes, in every detail."""
    pin(home, forge, path)
    report = verify(path, home=home, fast=fast)
    assert report.findings == ()
    assert said(report) == ("intact", "pinned", "checked", 0, True)
    assert report.size == report.events_checked == len(forge.rows)
    assert report.head == forge.rows[-1].hash.hex()
    assert report.ledger == forge.ledger
    assert report.erased == 1
    assert report.open_runs == ("OPEN",)
    assert report.anchored == "anchored to 15 of 15, by the writer's own user"
    assert json.loads(json.dumps(report.to_json()))["exit_code"] == 0
    expected = 4 if fast else 15
    assert report.signatures_checked == expected


def test_pinned_without_memory(path: Path, forge: Forge, home: TrustHome) -> None:
    """Without a memory, completeness is unchecked: exit 0, or 3 where it is required."""
    pin(home, forge)
    assert said(verify(path, home=home)) == ("intact", "pinned", "unchecked", 0, True)
    strict = verify(path, home=home, require_complete=True)
    assert said(strict) == ("intact", "pinned", "unchecked", 3, True)


def test_no_pinned_key(path: Path, home: TrustHome) -> None:
    """Without a pin a ledger is self-asserted: exit 3, or 0 on first use, never ok."""
    expected = ("intact", "self-asserted", "unchecked")
    assert said(verify(path, home=home)) == (*expected, 3, False)
    report = verify(path, home=home, trust_on_first_use=True)
    assert said(report) == (*expected, 0, False)
    assert "trusted on first use" in report.notes[0]


def test_verify_writes_nothing(path: Path, home: TrustHome) -> None:
    """Verifying makes no trust home and pins no key."""
    before = path.read_bytes()
    verify(path, home=home, trust_on_first_use=True)
    assert not home.path.exists()
    assert path.read_bytes() == before


def test_verify_leaves_what_was_not_yet_in_the_file(tmp_path: Path) -> None:
    """A write-ahead log that a killed writer left is read, and stays as it is."""
    with Ledger.create(tmp_path / "written" / "ledger.db", plugins=()) as ledger:
        ledger.append("note.added", {"text": "x"})
        copy = Path(shutil.copytree(ledger.path.parent, tmp_path / "copy"))
    files = [copy / "ledger.db", copy / "ledger.db-wal"]
    before = [file.read_bytes() for file in files]
    assert before[1]
    assert verify(files[0], trust_on_first_use=True).size == 2
    assert [file.read_bytes() for file in files] == before


@pytest.mark.parametrize("spelling", ["id", "object", "pem", "ssh", "file", "text"])
def test_given_keys(path: Path, forge: Forge, home: TrustHome, spelling: str) -> None:
    """A given root key pins the ledger, in any of its spellings."""
    public = PublicKey(raw(forge.key("root")))
    file = path.with_name("root.pub")
    file.write_text(public.pem)
    keys: dict[str, str | Path | PublicKey] = {
        "id": public.keyid,
        "object": public,
        "pem": public.pem,
        "ssh": public.ssh,
        "file": file,
        "text": str(file),
    }
    assert verify(path, home=home, keys=[keys[spelling]]).authenticity == "pinned"


def test_every_signer_pinned(path: Path, forge: Forge, home: TrustHome) -> None:
    """Without a root, no number of other keys makes a ledger pinned."""
    names = ["writer", "second", "checkpoint"]
    keys = [keyid(forge.key(name)) for name in names]
    for number in range(1, 4):
        report = verify(path, home=home, keys=keys[:number])
        assert (report.authenticity, report.exit_code) == ("self-asserted", 3)
    keys.append(keyid(forge.key("root")))
    assert verify(path, home=home, keys=keys).authenticity == "pinned"


def test_given_key_of_another_ledger(path: Path, home: TrustHome) -> None:
    """A given key that the ledger does not have makes it foreign."""
    report = verify(path, home=home, keys=[keyid(make_key("stranger"))])
    assert rules(report) == [("key/pin", None)]
    assert said(report) == ("intact", "wrong", "unchecked", 1, False)


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("nonsense", "32 bytes, not 6"),
        ("SHA256:short", "this is no whole fingerprint"),
        ("/no/such/file.pem", "No such file"),
        ("./root", "No such file"),
        ("root.pub", "No such file"),
    ],
)
def test_given_key_unreadable(path: Path, home: TrustHome, key: str, why: str) -> None:
    """A given key that cannot be read is *cannot tell*, exit 3, and says why."""
    report = verify(path, home=home, keys=[key])
    assert report.exit_code == 3
    assert [finding.kind for finding in report.findings] == ["unreadable"]
    assert why in report.findings[0].message


def test_missing_file(tmp_path: Path, forge: Forge, home: TrustHome) -> None:
    """A file that is not there is unknown, exit 3; where one was known, truncated."""
    path = tmp_path / "ledger.db"
    report = verify(path, home=home)
    assert (rules(report), report.exit_code) == ([("file/missing", None)], 3)
    home.remember(str(path), forge.ledger)
    report = verify(path, home=home)
    assert rules(report) == [("head/truncated", 0)]
    assert said(report) == ("cannot tell", "cannot tell", "wrong", 1, False)


@pytest.mark.parametrize("how", ["zero bytes", "no rows", "no tables"])
def test_emptied(path: Path, forge: Forge, home: TrustHome, how: str) -> None:
    """A known ledger that was emptied is truncated, exit 1; an unknown one exit 3."""
    if how == "no rows":
        with tampering(path) as connection:
            for table in ("event", "subject", "blob", "tile", "checkpoint"):
                connection.execute(f"DELETE FROM {table}")
    else:
        path.unlink()
        with closing(sqlite3.connect(path)) as connection:
            if how == "no tables":
                connection.execute("PRAGMA user_version=1")
        path.touch()
    assert verify(path, home=home).exit_code == 3
    home.remember(str(path), forge.ledger)
    report = verify(path, home=home)
    assert rules(report) == [("head/truncated", 0)]
    assert said(report) == ("cannot tell", "cannot tell", "wrong", 1, False)


def test_foreign_at_a_known_location(path: Path, forge: Forge, home: TrustHome) -> None:
    """Another ledger at a known location is foreign, however intact and pinned."""
    pin(home, forge, path)
    path.unlink()
    other = small("two")
    other.write(path)
    home.pin(other.ledger, keyid(other.key("root")))
    report = verify(path, home=home)
    assert rules(report) == [("ledger/foreign", None)]
    assert said(report) == ("intact", "wrong", "unchecked", 1, False)


def test_moved(path: Path, forge: Forge, home: TrustHome) -> None:
    """A known ledger at a new place is a note, checked against the same memory."""
    pin(home, forge, path)
    place = path.with_name("moved.db")
    path.rename(place)
    Path(f"{path}.blobs").rename(f"{place}.blobs")
    report = verify(place, home=home)
    assert said(report) == ("intact", "pinned", "checked", 0, True)
    assert str(path) in report.notes[0]


def before_erasure(
    forge: Forge, digest: bytes, seq: int, data: bytes | None
) -> tuple[bytes, int, bytes | None]:
    """Return the row of a blob as it was before the erasure."""
    if data is None and digest not in forge.files:
        data = Forge().kept(b"my secret")
    return digest, seq, data


def test_tail_cut(tmp_path: Path, forge: Forge, home: TrustHome) -> None:
    """Every cut tail, down to a single event, is noticed by the head memory."""
    path = tmp_path / "ledger.db"
    pin(home, forge, path)
    for size in range(1, len(forge.rows)):
        cut = forge.copy()
        del cut.rows[size:]
        cut.notes = [note for note in cut.notes if note[0] <= size]
        cut.blobs = [blob for blob in cut.blobs if blob[1] < size]
        if size < 14:
            cut.blobs = [before_erasure(cut, *blob) for blob in cut.blobs]
        path.unlink(missing_ok=True)
        report = verify(cut.write(path), home=home)
        assert rules(report) == [("head/truncated", size)], size
        assert said(report) == ("intact", "pinned", "wrong", 1, False)
        lost = "1 event" if size == 14 else f"{15 - size} events"
        assert f"is {lost} shorter" in report.findings[0].message


def test_older_copy(tmp_path: Path, forge: Forge, home: TrustHome) -> None:
    """A true prefix of an anchored history is an older copy, N events behind."""
    path = tmp_path / "ledger.db"
    pin(home, forge, path)
    home.anchor(forge.ledger, forge.notes[0][1])
    old = forge.copy()
    del old.rows[6:], old.notes[1:], old.blobs[3:]
    report = verify(old.write(path), home=home)
    assert rules(report) == [("head/rolled-back", 6)]
    assert "9 events behind" in report.findings[0].message
    assert f"init DIR --continues {forge.ledger} " in report.findings[0].remedy
    assert (report.exit_code, report.completeness) == (1, "wrong")
    assert report.anchored == "anchored to 5 of 6, by the writer's own user"


def test_fork(tmp_path: Path, forge: Forge, home: TrustHome) -> None:
    """Another history under the same keys contradicts head memory and anchors."""
    path = tmp_path / "ledger.db"
    pin(home, forge, path)
    home.anchor(forge.ledger, forge.notes[1][1])
    other = forge.copy()
    del other.rows[12:], other.notes[1:], other.blobs[-1:]
    for number in range(5):
        other.append("note.added", {"text": f"another {number}"})
    other.checkpoint()
    report = verify(other.write(path), home=home)
    assert rules(report) == [("anchor/root", 13), ("head/forked", 14)]
    assert {finding.kind for finding in report.findings} == {"forked"}
    assert said(report) == ("intact", "pinned", "wrong", 1, False)


@pytest.mark.parametrize("form", ["note", "lines"])
def test_given_anchor(path: Path, forge: Forge, home: TrustHome, form: str) -> None:
    """An anchor that somebody else kept confirms the log, independently."""
    pin(home, forge)
    notes = [note for _, note in forge.notes]
    anchor = path.with_name("anchor")
    if form == "note":
        anchor.write_bytes(b"\n".join(notes))
    else:
        lines = [json.dumps({"note": note.decode()}) for note in notes]
        anchor.write_text("\n".join(lines))
    report = verify(path, home=home, anchor=anchor)
    assert said(report) == ("intact", "pinned", "checked", 0, True)
    assert report.anchored == "anchored to 14 of 15, independently by anchor"


def test_given_anchor_beyond(path: Path, forge: Forge, home: TrustHome) -> None:
    """An anchor over more events than the log has means that it was cut."""
    longer = forge.copy()
    longer.append("note.added", {"text": "later"})
    anchor = path.with_name("anchor")
    anchor.write_bytes(longer.note())
    report = verify(path, home=home, anchor=anchor)
    assert (rules(report), report.exit_code) == ([("head/truncated", 15)], 1)


@pytest.mark.parametrize(
    ("content", "rule", "exit_code"),
    [
        (None, "anchor/missing", 3),
        (b"", "anchor/format", 3),
        (b"hello\n", "anchor/format", 3),
        (b'{"no": "note"}\n', "anchor/format", 3),
        (b"other", "anchor/origin", 1),
    ],
)
def test_given_anchor_refused(
    path: Path, home: TrustHome, content: bytes | None, rule: str, exit_code: int
) -> None:
    """An anchor that is missing or no anchor is exit 3; another ledger's is exit 1."""
    anchor = path.with_name("anchor")
    if content is not None:
        other = content == b"other"
        anchor.write_bytes(small("two").note() if other else content)
    report = verify(path, home=home, anchor=anchor)
    assert ([finding.rule for finding in report.findings]) == [rule]
    assert report.exit_code == exit_code


def test_anchor_signed_by_a_stranger(path: Path, forge: Forge, home: TrustHome) -> None:
    """A given anchor that no key of the ledger signed is not evidence: cannot tell."""
    anchor = path.with_name("anchor")
    anchor.write_bytes(forge.note(5, make_key("stranger")))
    report = verify(path, home=home, anchor=anchor)
    assert (rules(report), report.exit_code) == ([("anchor/unsigned", None)], 3)


def test_damaged_trust_home(path: Path, forge: Forge, home: TrustHome) -> None:
    """A trust home that cannot be read is exit 3, never ignored."""
    pin(home, forge, path)
    (home.path / "ledgers" / forge.ledger[7:] / "pins.json").write_text("{")
    report = verify(path, home=home)
    assert report.exit_code == 3
    assert report.findings[0].kind == "unreadable"
