"""Making a ledger: what stands where afterwards, under any name, and by one of two."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from children import Report, start
from muniment.errors import RefusedError, UsageError
from muniment.keys.ed25519 import PrivateKey, load_private, save_private
from muniment.ledger import Ledger
from muniment.storage.create import create_ledger
from muniment.trust.home import TrustHome
from muniment.verification.verify import verify

NAMES = ["a b.db", "a%20b.db", "what?.db", "number#1.db", "ünï.db", "x&y=z;.db", "-.db"]


@pytest.mark.parametrize("name", NAMES)
def test_names(tmp_path: Path, name: str) -> None:
    """Blanks, percent signs, question marks and the like are part of a name."""
    place = tmp_path / f"dir {name}" / name
    with Ledger.create(place, plugins=()) as ledger:
        ledger.append("note.added", {"text": "a", "details": "b" * 1_100_000})
        assert ledger.path == place
    with Ledger.open(place, plugins=()) as ledger:
        assert ledger.append("note.added", {"text": "c"}).seq == 2
    siblings = {path.name for path in place.parent.iterdir()}
    assert siblings <= {name, f"{name}.blobs", f"{name}-wal", f"{name}-shm"}
    assert verify(place).ok


@pytest.mark.parametrize(
    "form", ["sub/l.db", "./sub/../sub/l.db", "sqlite:///sub/l.db"]
)
def test_relative_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """A relative path is meant from where the program stands, and stays that file."""
    monkeypatch.chdir(tmp_path)
    with Ledger.create(form, plugins=()) as ledger:
        monkeypatch.chdir("/")
        ledger.append("note.added", {"text": "a"})
        assert ledger.path == tmp_path / "sub" / "l.db"
    assert verify(tmp_path / "sub" / "l.db").ok


@pytest.mark.parametrize(
    "place", ["", ":memory:", "sqlite:///:memory:", "postgresql://h/d", "work/cache.db"]
)
def test_places_that_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Memory, other databases and the cache's own name are usage errors."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"\[(store/url|ledger/name)\]"):
        Ledger.create(place, plugins=())
    assert list(tmp_path.rglob("*.db")) == []


def test_what_stands_where(ledger: Ledger) -> None:
    """Writer and checkpoint keys are kept, root keys put aside, the root is pinned."""
    home = TrustHome()
    kept, aside = home.keys_directory(ledger.id), home.recovery_directory(ledger.id)
    assert {path.name for path in kept.iterdir()} == {"writer.pem", "checkpoint.pem"}
    assert {path.name for path in aside.iterdir()} == {"root.pem", "next-root.pem"}
    for path in [*kept.iterdir(), *aside.iterdir()]:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    root = load_private(aside / "root.pem").public
    assert home.pins(ledger.id) == {root.keyid}
    assert ledger.born is not None
    assert ledger.born.fingerprint == root.keyid
    assert home.ledger_at(str(ledger.path)) == ledger.id
    head = home.head(ledger.id)
    assert head is not None
    assert head.size == 1
    assert (ledger.path.parent / ".gitignore").read_text() == "*\n"


def test_no_gitignore_elsewhere(tmp_path: Path) -> None:
    """Only a directory called .muniment is the ledger's own."""
    Ledger.create(tmp_path / "l.db", plugins=()).close()
    assert not (tmp_path / ".gitignore").exists()


def test_an_existing_file(ledger: Ledger) -> None:
    """Nothing is ever written over, be it a ledger or not."""
    before = ledger.path.read_bytes()
    with pytest.raises(RefusedError, match="file already"):
        Ledger.create(ledger.path, plugins=())
    other = ledger.path.with_name("notes.txt")
    other.write_text("mine")
    with pytest.raises(RefusedError, match="file already"):
        Ledger.create(other, plugins=())
    assert (ledger.path.read_bytes(), other.read_text()) == (before, "mine")


def test_a_remembered_place(ledger: Ledger) -> None:
    """Where a ledger was and its file is gone, another is not made in its place."""
    ledger.close()
    ledger.path.unlink()
    with pytest.raises(RefusedError, match="muniment forget"):
        Ledger.create(ledger.path, plugins=())
    assert TrustHome().forget(str(ledger.path)) == ledger.id
    Ledger.create(ledger.path, plugins=()).close()
    assert verify(ledger.path).ok


def test_a_dangling_link(tmp_path: Path) -> None:
    """A link to nothing is something: no ledger is made where it points."""
    link, place = tmp_path / "link.db", tmp_path / "real" / "l.db"
    link.symlink_to(place)
    with pytest.raises(RefusedError, match="there is a file already"):
        Ledger.create(link, plugins=())
    assert not place.parent.exists()
    assert link.is_symlink()


def test_two_at_once(tmp_path: Path) -> None:
    """Of several that make a ledger at one place, one does; the others say so."""
    place = tmp_path / "work" / "l.db"
    reading, writing = os.pipe()

    def body(report: Report) -> None:
        os.read(reading, 1)
        try:
            with Ledger.create(place, plugins=()) as ledger:
                report(ledger.id)
        except RefusedError as error:
            report(f"refused {error.rule}")

    for _ in range(3):
        children = [start(body) for _ in range(4)]
        os.write(writing, b"x" * 4)
        ends = [child.end() for child in children]
        said = [line for _, lines in ends for line in lines]
        assert [code for code, _ in ends] == [0] * 4, said
        (made,) = [line for line in said if not line.startswith("refused")]
        home = TrustHome()
        assert [path.name for path in (home.path / "ledgers").iterdir()] == [
            made.removeprefix("sha256:")
        ]
        left = {path.name.removeprefix(place.name) for path in place.parent.iterdir()}
        assert left <= {"", "-wal", "-shm"}, "a half-made ledger is left"
        assert verify(place).ok
        for path in place.parent.iterdir():
            path.unlink()
        home.forget(str(place))
        for path in sorted((home.path / "ledgers").rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()


def test_a_signer_of_ones_own(tmp_path: Path) -> None:
    """A signer that was given writes; its private half is kept by nobody else."""
    path = tmp_path / "writer.pem"
    save_private(path, PrivateKey.generate())
    place = tmp_path / "l.db"
    with Ledger.create(place, signer=f"file:{path}", plugins=()) as ledger:
        event = ledger.append("note.added", {"text": "a"})
        assert event.key == load_private(path).public.raw
        kept = TrustHome().keys_directory(ledger.id)
        assert {one.name for one in kept.iterdir()} == {"checkpoint.pem"}
    assert verify(place).ok
    with Ledger.open(place, plugins=()) as without:
        assert not without.writable


def test_a_successor_names_its_predecessor(ledger: Ledger, tmp_path: Path) -> None:
    """What a ledger continues stands in its genesis."""
    note = ledger.checkpoint()
    assert note is not None
    told = {"ledger": ledger.id, "checkpoint": note.decode(), "reason": "restored"}
    with Ledger.create(tmp_path / "n.db", continues=told, plugins=()) as successor:
        assert successor.event(0).raw["continues"] == told
    assert verify(tmp_path / "n.db").ok


def test_the_file_is_on_disk_before_its_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first event is synced, with nothing beside its file, before anything else."""
    synced: list[int] = []
    sync = os.fsync

    def fsync(descriptor: int) -> None:
        synced.append(os.fstat(descriptor).st_ino)
        sync(descriptor)

    def step(label: str) -> None:
        if label == "written":
            (file,) = tmp_path.glob(".l.db.*")
            assert synced == [file.stat().st_ino]

    monkeypatch.setattr(os, "fsync", fsync)
    create_ledger(tmp_path / "l.db", TrustHome(), step=step)

    assert len(synced) > 1
    assert verify(tmp_path / "l.db").ok
