"""No link leads out of a ledger's folder or the trust home; nothing hangs there."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from forked_commands import ForkedCommands
from kinds_of_files import (
    KINDS,
    LINKS,
    NO_FILES,
    SECRET,
    picture,
    possible,
    put,
    surroundings,
)
from muniment.errors import MunimentError
from muniment.ledger import Ledger
from muniment.trust.home import TrustHome
from muniment.verification.verify import verify
from muniment_cli import main

LARGE = "x" * 1_100_000
CODES = {0, 1, 2, 3, 4, 5}
"""What README documents; anything else is a crash or a signal."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Stand beside a ledger with a large content, a small one and a cache."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    surroundings(tmp_path / "outside")
    with Ledger.create(work / ".muniment" / "ledger.db", plugins=()) as ledger:
        ledger.append("note.added", {"text": "large", "details": LARGE})
        ledger.append("note.added", {"text": "small", "details": "y" * 10_000})
        ledger.execute(lambda run: str(run.uuid()), name="p")
    main(["runs"])
    yield ledger.path
    for one in (tmp_path / "outside").rglob("*"):
        assert one.lstat()


def _files(place: Path) -> dict[str, Path]:
    """Return every place of a file that the product reads or writes here."""
    home = TrustHome()
    (known,) = {home.ledger_at(str(place))}
    assert known is not None
    kept = home.keys_directory(known)
    (content,) = (place.parent / "ledger.db.blobs").iterdir()
    beside = ("ledger.db", "ledger.db-wal", "ledger.db-shm", "ledger.db-journal")
    own = ("pins.json", "head", "anchors.jsonl", "erased.jsonl", "verified.json")
    return {
        **{name: place.with_name(name) for name in (*beside, "cache.db", ".gitignore")},
        "cache.db-journal": place.with_name("cache.db-journal"),
        "ledger.db.blobs": place.with_name("ledger.db.blobs"),
        "a content": content,
        **{name: kept.with_name(name) for name in (*own, "cache.json")},
        **{name: home.path / name for name in ("locations.json", "lock", "ledgers")},
        **{f"keys/{one.name}": one for one in sorted(kept.iterdir())},
        "keys": kept,
        "the ledger's own folder": kept.parent,
        "recovery": kept.with_name("recovery"),
        "recovery/root.pem": kept.with_name("recovery") / "root.pem",
    }


FILES = (
    *("ledger.db", "ledger.db-wal", "ledger.db-shm", "ledger.db-journal", "cache.db"),
    *(".gitignore", "cache.db-journal", "ledger.db.blobs", "a content", "pins.json"),
    *("head", "anchors.jsonl", "erased.jsonl", "verified.json", "cache.json"),
    *("locations.json", "lock", "ledgers", "keys/checkpoint.pem", "keys/writer.pem"),
    *("keys", "the ledger's own folder", "recovery", "recovery/root.pem"),
)

COMMANDS: tuple[tuple[str, ...], ...] = (
    ("status",),
    ("verify",),
    ("events", "show", "1"),
    ("runs",),
    ("backup", "../copy.db"),
    ("prove", "1"),
    ("checkpoint",),
    ("rebuild",),
    ("doctor",),
    ("erase", "CONTENT", "--reason", "asked"),
    ("forget", ".muniment/ledger.db"),
    ("init",),
)
"""What reads and writes, the readers first: each meets what the others left."""


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("kind", possible())
def test_every_kind_of_file(
    file: str, kind: str, place: Path, tmp_path: Path, commands: ForkedCommands
) -> None:
    """Each command ends, with a documented code and one line; outside is untouched."""
    files = _files(place)
    assert set(FILES) == set(files)
    content = f"sha256:{files['a content'].name}"
    put(kind, files[file], tmp_path / "outside")
    before = picture(tmp_path / "outside")
    for command in COMMANDS:
        named = tuple(content if one == "CONTENT" else one for one in command)
        code, said = commands.run(named, Path.cwd(), tmp_path / "said")
        assert code in CODES, (command, code, said)
        assert "Traceback" not in said, (command, said)
        assert "cli/bug" not in said, (command, said)
        assert SECRET.decode().strip() not in said, (command, said)
        errors = [line for line in said.splitlines() if line.startswith("error:")]
        assert len(errors) <= 1, (command, said)
        assert picture(tmp_path / "outside") == before, (command, said)
        if kind in LINKS and files[file].is_symlink():
            assert str(files[file].readlink()).startswith((str(tmp_path), "/dev/zero"))
    if kind in NO_FILES and file == "ledger.db":
        assert verify(place).exit_code in (1, 3)


def test_the_list_of_kinds() -> None:
    """Nothing that a name may stand for is left out."""
    assert len(KINDS) == 13
    assert set(possible()) >= set(KINDS) - {"a device"}


def _link_to_contents(place: Path, outside: Path) -> list[Path]:
    """Lead the folder of contents to somebody's, with files of such names."""
    theirs = outside / "theirs"
    theirs.mkdir()
    named = [theirs / ("0" * 64), theirs / "letter", theirs / ("f" * 64)]
    for one in named:
        one.write_bytes(SECRET)
    blobs = place.with_name("ledger.db.blobs")
    for one in blobs.iterdir():
        one.rename(theirs / one.name)
    blobs.rmdir()
    blobs.symlink_to(theirs)
    return sorted(theirs.iterdir())


def test_erase_through_a_link(place: Path, tmp_path: Path) -> None:
    """Nothing is erased behind a link, and no event says that it was."""
    theirs = _link_to_contents(place, tmp_path / "outside")
    with Ledger.open(place, plugins=()) as ledger:
        size = ledger.head.size
        for event in list(ledger.events(type="note.added")):
            reference = event.raw["details"]
            assert isinstance(reference, dict)
            if event.raw["text"] == "large":
                with pytest.raises(MunimentError, match="a link, not a directory"):
                    ledger.erase(str(reference["$blob"]), reason="asked")
        assert ledger.head.size == size
        with pytest.raises(MunimentError, match="a link, not a directory"):
            ledger.append("note.added", {"text": "more", "details": LARGE})
    assert sorted((tmp_path / "outside" / "theirs").iterdir()) == theirs


def test_erase_removes_what_a_row_names(place: Path) -> None:
    """Files that no row names stay, whatever they are called."""
    blobs = place.with_name("ledger.db.blobs")
    (content,) = blobs.iterdir()
    strangers = [blobs / ("0" * 64), blobs / "letter", blobs / f"{content.name}.1"]
    assert not [note for note in verify(place).notes if "no row" in note]
    for one in strangers:
        one.write_bytes(SECRET)
    with Ledger.open(place, plugins=()) as ledger:
        ledger.erase(f"sha256:{content.name}", reason="asked")
    assert sorted(blobs.iterdir()) == sorted(strangers)
    (note,) = [note for note in verify(place).notes if "no row" in note]
    assert note.startswith("3 of the names")


def _application(path: Path) -> bytes:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
        connection.commit()
    return path.read_bytes()


LEADS: dict[str, Callable[[Path, Path], object]] = {
    "a link": lambda cache, other: cache.symlink_to(other),
    "another name": lambda cache, other: cache.hardlink_to(other),
    "the file itself": lambda cache, other: other.rename(cache),
}


@pytest.mark.parametrize("lead", LEADS)
def test_another_applications_database(lead: str, place: Path, tmp_path: Path) -> None:
    """What stands at cache.db and is not ours gets no table, and is not deleted."""
    other = tmp_path / "outside" / "bookmarks.db"
    theirs = _application(other)
    cache = place.with_name("cache.db")
    cache.unlink()
    LEADS[lead](cache, other)
    for command in (["runs"], ["runs", "stats"], ["rebuild"], ["status"]):
        assert main(command) in (0, 3)
    assert cache.read_bytes() == theirs


@pytest.mark.parametrize("kind", sorted(NO_FILES & set(possible())))
def test_init_beside_a_gitignore(kind: str, tmp_path: Path) -> None:
    """A .gitignore that is not a file is refused; one that is a file stays as it is."""
    surroundings(tmp_path / "outside")
    folder = tmp_path / "new" / ".muniment"
    put(kind, folder / ".gitignore", tmp_path / "outside")
    before = picture(tmp_path / "outside")
    with pytest.raises(MunimentError, match="not a file"):
        Ledger.create(folder / "ledger.db", plugins=())
    assert picture(tmp_path / "outside") == before
    assert not (folder / "ledger.db").exists()
    put("a regular file of others", folder / ".gitignore", tmp_path / "outside")
    Ledger.create(folder / "ledger.db", plugins=()).close()
    assert (folder / ".gitignore").read_bytes() == SECRET


def test_contents_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large contents go where init was told, and are read, verified, copied, erased."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to("disk")
    assert main(["init", "new", "--blobs", "link/contents"]) == 0
    place = tmp_path / "new" / ".muniment" / "ledger.db"
    with Ledger.open(place, plugins=()) as ledger:
        event = ledger.append("note.added", {"text": "large", "details": LARGE})
        assert ledger.resolve(event)["details"] == LARGE
    (content,) = (tmp_path / "disk" / "contents").iterdir()
    assert not place.with_name("ledger.db.blobs").exists()
    assert verify(place).ok
    assert main(["--ledger", str(place), "backup", "copy.db"]) == 0
    assert [one.name for one in (tmp_path / "copy.db.blobs").iterdir()] == [
        content.name
    ]
    assert verify(tmp_path / "copy.db").ok
    assert main(["init", "new", "--blobs", "other"]) == 4
    assert TrustHome().blobs_of(place) == content.parent
    stranger = content.with_name("f" * 64)
    stranger.write_bytes(SECRET)
    with Ledger.open(place, plugins=()) as ledger:
        ledger.erase(f"sha256:{content.name}", reason="asked")
    assert list(content.parent.iterdir()) == [stranger]
    assert verify(place).ok
    content.parent.rename(tmp_path / "unmounted")
    with (
        Ledger.open(place, plugins=()) as ledger,
        pytest.raises(MunimentError, match="cannot be written"),
    ):
        ledger.append("note.added", {"text": "large", "details": LARGE})
