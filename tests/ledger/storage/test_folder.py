"""Files inside one folder: no link leads out of it, nothing hangs."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kinds_of_files import NO_FILES, picture, possible, put, surroundings
from muniment.files import folder as module
from muniment.files.folder import Folder, NotAFile, WrongSize, write_new


@pytest.fixture(params=["descriptors", "paths"])
def work(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Give a folder, with ``dir_fd`` and as on a system that lacks it."""
    if request.param == "paths":
        monkeypatch.setattr(module, "_RELATIVE", False)
    (tmp_path / "work").mkdir()
    surroundings(tmp_path / "outside")
    return tmp_path / "work"


@pytest.mark.parametrize("kind", sorted(NO_FILES & set(possible())))
def test_what_is_no_file(kind: str, work: Path) -> None:
    """What is not a regular file is neither read, written, entered nor made again."""
    outside = work.parent / "outside"
    put(kind, work / "name", outside)
    before = picture(work.parent)

    with Folder.at(work) as folder:
        with pytest.raises(NotAFile, match=r"it is .*, not a file"):
            folder.read("name")
        with pytest.raises(NotAFile), folder.opened("name", write=True):
            pass
        with pytest.raises(FileExistsError):
            folder.create("name", [b"ours"])
        if kind != "a directory":
            with pytest.raises(NotAFile, match="not a directory"):
                folder.make("name")
            with pytest.raises(NotAFile), folder.inside("name"):
                pass

    assert picture(work.parent) == before


@pytest.mark.parametrize("kind", sorted(set(possible()) - {"a directory"}))
def test_replaced_and_removed(kind: str, work: Path) -> None:
    """A name is replaced and removed; what a link leads to stays as it is."""
    outside = work.parent / "outside"
    before = picture(outside)
    with Folder.at(work) as folder:
        put(kind, work / "name", outside)
        folder.replace("name", [b"ou", b"rs"])
        assert folder.read("name", size=4) == b"ours"
        put(kind, work / "name", outside)
        folder.remove("name")
        folder.remove("name")
        assert folder.kind("name") == ""
        assert folder.names() == []

    assert picture(outside) == before


def test_sizes(work: Path) -> None:
    """A file of another size than was expected is not read."""
    (work / "name").write_bytes(b"ours")
    with (work / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with Folder.at(work) as folder:
        assert folder.read("name", size=4, limit=4) == b"ours"
        with pytest.raises(WrongSize, match="it has 4 bytes, not 3"):
            folder.read("name", size=3)
        with pytest.raises(WrongSize, match="more than 3"):
            folder.read("name", limit=3)
        with pytest.raises(WrongSize, match="more than 1000"):
            folder.read("sparse", limit=1000)


def test_made(work: Path) -> None:
    """Files and folders are made for this user alone, exclusively, and through links."""
    (work.parent / "link").symlink_to(work)
    with Folder.at(work.parent / "link") as folder:
        folder.make("inner")
        folder.make("inner")
        with folder.inside("inner") as inner:
            inner.create("name", [b"ours"])
            inner.sync()
            with pytest.raises(FileExistsError):
                inner.create("name", [b"other"])
            with inner.opened("name", write=True) as file:
                file.write(b"mine")
            assert inner.read("name") == b"mine"
        with pytest.raises(FileNotFoundError):
            folder.read("missing")
    assert (work / "inner").stat().st_mode & 0o777 == 0o700
    assert (work / "inner" / "name").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("kind", possible())
def test_a_new_file_is_written_over_nothing(kind: str, tmp_path: Path) -> None:
    """Whatever stands in the place of a new file stays as it is, and what it leads to."""
    surroundings(tmp_path / "outside")
    put(kind, tmp_path / "name", tmp_path / "outside")
    before = picture(tmp_path)
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "name", [b"ours"])
    assert picture(tmp_path) == before


def test_nothing_is_left_of_a_file_that_was_not_written(tmp_path: Path) -> None:
    """What fails on the way, such as a full disk, leaves no half of a file."""

    def parts() -> Iterator[bytes]:
        yield b"the first half"
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_new(tmp_path / "name", parts())
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../work/name", "a\0b"])
def test_names_have_no_parts(name: str, work: Path) -> None:
    """What would leave the folder is not a name of it."""
    with Folder.at(work) as folder, pytest.raises(NotAFile):
        folder.read(name)


@pytest.mark.parametrize("kind", sorted(NO_FILES & set(possible())))
def test_changed_in_between(
    kind: str, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What takes the place of a file after it was looked at is not read either."""
    place, outside = work / "name", work.parent / "outside"
    place.write_bytes(b"ours")
    with Folder.at(work) as folder:
        real = os.open

        def late(*args: object, **more: object) -> int:
            if str(args[0]).endswith("name"):
                put(kind, place, outside)
            return real(*args, **more)  # type: ignore[arg-type]

        monkeypatch.setattr(os, "open", late)
        with pytest.raises(OSError, match=r"."), folder.opened("name"):
            pass


def test_no_folder(work: Path) -> None:
    """What is not a folder, or not there, is said."""
    (work / "file").touch()
    with (
        pytest.raises(NotAFile, match="a file, not a directory"),
        Folder.at(work / "file"),
    ):
        pass
    with pytest.raises(FileNotFoundError), Folder.at(work / "nowhere"):
        pass
    with pytest.raises(OSError, match=r"zero|null"), Folder.at(Path("a\0b")):
        pass
