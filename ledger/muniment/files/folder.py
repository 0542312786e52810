"""Files inside one folder; no link leads out of it.

    with Folder.at(Path("/srv/lab/.muniment")) as folder:
        with folder.inside("ledger.db.blobs") as blobs:
            data = blobs.read("9d1f…c07a", size=1_048_608)

Rules:

- Links on the way to the folder are followed when it is opened. From then on each name
  is looked up in that folder itself (``dir_fd``), and no link is followed.
- Only regular files are opened. They are checked before they are opened, so that no
  device is touched, and again once they are open. Nothing blocks, so a FIFO cannot hang
  the process, and no more is read than was expected.
- A file is made exclusively, replaced by a rename, and removed by its name: the target
  of a link is never touched.
- Every refusal is an `OSError` whose ``strerror`` says what is there.

If the system has no ``dir_fd`` (Windows), a name is checked, opened by its path, and
must then be the file that was checked: somebody who can write to the folder, and
changes it between the two, is noticed when a file is opened, but not when one is made
or removed.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

__all__ = [
    "Folder",
    "NotAFile",
    "WrongSize",
    "kind_of",
    "open_file",
    "read_given",
    "real_place",
    "write_new",
]

_RELATIVE = {os.open, os.unlink, os.mkdir, os.rename, os.stat} <= os.supports_dir_fd


def _flags(*names: str) -> int:
    found = 0
    for name in names:
        found |= int(getattr(os, name, 0))
    return found


_SAFE = _flags("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY", "O_NOCTTY")
_FOLDER = _flags("O_DIRECTORY", "O_CLOEXEC")
_KINDS = {
    stat.S_IFREG: "a file",
    stat.S_IFLNK: "a link",
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class NotAFile(OSError):
    """Something else has the name of a file, or of a folder."""


class WrongSize(OSError):
    """A file does not have the expected size, or is larger than the limit."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that is open; made by `at` and `inside`."""

    path: Path
    _fd: int | None

    @classmethod
    @contextmanager
    def at(cls, path: Path) -> Generator[Folder]:
        """Open the folder *path*, following the links that lead to it.

        Raises:
            FileNotFoundError: there is none.
            NotAFile: something else is there.

        """
        try:
            seen = path.stat()
        except ValueError as error:  # a name with a zero byte
            raise NotAFile(errno.EINVAL, str(error), repr(str(path))) from None
        with _opened(path, path, None, seen) as fd:
            yield cls(path, fd)

    @contextmanager
    def inside(self, name: str) -> Generator[Folder]:
        """Open the folder *name* in this one; a link is refused."""
        place = self.path / name
        with _opened(self._spelled(name), place, self._fd, self._stat(name)) as fd:
            yield Folder(place, fd)

    def kind(self, name: str) -> str:
        """Return what *name* is: ``a file``, ``a link``, …, ``""`` for nothing."""
        try:
            return kind_of(self._stat(name).st_mode)
        except FileNotFoundError:
            return ""

    def names(self) -> list[str]:
        """Return the names in the folder, sorted."""
        return sorted(os.listdir(self.path if self._fd is None else self._fd))  # noqa: PTH208 - of a descriptor

    def regular(self, name: str) -> os.stat_result:
        """Return the status of the regular file *name* without opening it.

        Raises:
            FileNotFoundError: there is none.
            NotAFile: something else is there.

        """
        found = self._stat(name)
        self._require_regular(name, found)
        return found

    @contextmanager
    def opened(self, name: str, *, write: bool = False) -> Generator[BinaryIO]:
        """Lend the regular file *name* for reading, or with *write* for changing it.

        Raises:
            FileNotFoundError: there is none.
            NotAFile: something else is there; it was not opened.
            OSError: it cannot be opened.

        """
        seen = self.regular(name)
        flags = os.O_RDWR if write else os.O_RDONLY
        fd = os.open(self._spelled(name), flags | _SAFE, dir_fd=self._fd)
        with open(fd, "r+b" if write else "rb") as file:  # noqa: PTH123 - a descriptor
            found = os.fstat(fd)
            self._require_regular(name, found)
            if not os.path.samestat(seen, found):
                raise NotAFile(
                    errno.EAGAIN, "it was replaced just now", str(self.path / name)
                )
            yield file

    def read(
        self, name: str, *, size: int | None = None, limit: int | None = None
    ) -> bytes:
        """Return the bytes of the regular file *name*.

        Args:
            name: a name in this folder.
            size: its expected size; another size is refused, unread.
            limit: its largest size; a larger file is refused, unread.

        Raises:
            WrongSize: it has another size.
            NotAFile: it is not a file.
            OSError: it is missing, or cannot be read.

        """
        with self.opened(name) as file:
            found = os.fstat(file.fileno()).st_size
            if size is not None and found != size:
                raise self._wrong_size(name, f"it has {found} bytes, not {size}")
            if limit is not None and found > limit:
                what = f"it has {found} bytes, more than {limit}"
                raise self._wrong_size(name, what)
            data = file.read(found)
        if size is not None and len(data) != size:
            raise self._wrong_size(name, f"it has {len(data)} bytes, not {size}")
        return data

    def create(
        self, name: str, parts: Iterable[bytes], *, mode: int = 0o600, sync: bool = True
    ) -> None:
        """Write *parts* to the new file *name*; on disk when this returns, if *sync*.

        Raises:
            FileExistsError: something is there already, even a link.
            OSError: it cannot be written; nothing of it is left.

        """
        write_new(self._spelled(name), parts, mode=mode, sync=sync, dir_fd=self._fd)

    def link(self, old: str, name: str) -> None:
        """Give the file *old* the second name *name*.

        Raises:
            FileExistsError: something is there already.
            OSError: the file system has no hard links.

        """
        os.link(
            self._spelled(old),
            self._spelled(name),
            src_dir_fd=self._fd,
            dst_dir_fd=self._fd,
        )

    def rename(self, old: str, name: str) -> None:
        """Give the file *old* the name *name*, whatever was there."""
        os.replace(
            self._spelled(old),
            self._spelled(name),
            src_dir_fd=self._fd,
            dst_dir_fd=self._fd,
        )

    def replace(self, name: str, parts: Iterable[bytes], *, mode: int = 0o600) -> None:
        """Put a new file in place of *name*: readers see the old one or the new."""
        fresh = f".{name}.{secrets.token_hex(8)}.new"
        self.create(fresh, parts, mode=mode)
        try:
            os.replace(
                self._spelled(fresh),
                self._spelled(name),
                src_dir_fd=self._fd,
                dst_dir_fd=self._fd,
            )
        except BaseException:
            with suppress(OSError):
                self.remove(fresh)
            raise

    def make(self, name: str, mode: int = 0o700) -> None:
        """Make the folder *name*, unless it is there.

        Raises:
            NotAFile: something else is there.

        """
        try:
            os.mkdir(self._spelled(name), mode, dir_fd=self._fd)
        except FileExistsError:
            _require_folder(self.path / name, self._stat(name))

    def remove(self, name: str) -> None:
        """Remove the name *name*, if it is there; never the target of a link."""
        with suppress(FileNotFoundError):
            os.unlink(self._spelled(name), dir_fd=self._fd)

    def sync(self) -> None:
        """Make the names in this folder durable, if the system can."""
        if self._fd is not None:
            os.fsync(self._fd)

    def _spelled(self, name: str) -> str:
        if name in ("", ".", "..") or "/" in name or os.sep in name or "\0" in name:
            raise NotAFile(errno.EINVAL, "a name of this folder has no parts", name)
        return name if self._fd is not None else str(self.path / name)

    def _stat(self, name: str) -> os.stat_result:
        return os.stat(self._spelled(name), dir_fd=self._fd, follow_symlinks=False)

    def _require_regular(self, name: str, found: os.stat_result) -> None:
        if not stat.S_ISREG(found.st_mode):
            _require_regular(self.path / name, found)

    def _wrong_size(self, name: str, what: str) -> WrongSize:
        return WrongSize(errno.EINVAL, what, str(self.path / name))


def kind_of(mode: int) -> str:
    """Return what has *mode*: ``a file``, ``a link``, ``a FIFO``, …."""
    return _KINDS.get(stat.S_IFMT(mode), "something unknown")


def open_file(path: Path, flags: int, *, follow: bool = False) -> int:
    """Return a descriptor of the regular file *path*; `os.O_CREAT` makes it.

    Args:
        path: where it is; the folder exists.
        flags: as `os.open` takes them.
        follow: whether to follow a link in its place, too.

    Raises:
        FileNotFoundError: there is none.
        NotAFile: something else is there.

    """
    with suppress(FileNotFoundError):
        _require_regular(path, path.stat() if follow else path.lstat())
    safe = _SAFE & ~_flags("O_NOFOLLOW") if follow else _SAFE
    fd = os.open(path, flags | safe, 0o600)
    try:
        _require_regular(path, os.fstat(fd))
    except BaseException:
        os.close(fd)
        raise
    return fd


def read_given(path: Path, most: int) -> bytes:
    """Return the bytes of the file *path* that somebody named, also through a link.

    Raises:
        FileNotFoundError: there is none.
        NotAFile: something else is there; it was not opened.
        WrongSize: it is larger.
        OSError: it cannot be read.

    """
    with open(open_file(path, os.O_RDONLY, follow=True), "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        said = f"{most >> 20} MiB" if most >> 20 else f"{most >> 10} KiB"
        raise WrongSize(errno.EFBIG, f"it has more than {said}", str(path))
    return data


def real_place(path: Path) -> Path:
    """Return *path* in its folder's real place; a link in the folder is not followed."""
    if path.name in ("", ".", ".."):  # a folder, however it is spelled
        return Path(os.path.realpath(path))
    return Path(os.path.realpath(path.parent)) / path.name


@contextmanager
def _opened(
    spelled: Path | str, place: Path, within: int | None, seen: os.stat_result
) -> Generator[int | None]:
    _require_folder(place, seen)
    if not _RELATIVE:
        yield None
        return
    flags = _FOLDER | (0 if within is None else _flags("O_NOFOLLOW"))
    try:
        fd = os.open(spelled, os.O_RDONLY | flags, dir_fd=within)
    except PermissionError:  # a folder that cannot be listed, but opens known names
        fd = os.open(spelled, _flags("O_PATH") | flags, dir_fd=within)
    try:
        yield fd
    finally:
        os.close(fd)


def _require_regular(place: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        what = f"it is {kind_of(found.st_mode)}, not a file"
        raise NotAFile(errno.EINVAL, what, str(place))


def _require_folder(place: Path, found: os.stat_result) -> None:
    if not stat.S_ISDIR(found.st_mode):
        what = f"it is {kind_of(found.st_mode)}, not a directory"
        raise NotAFile(errno.ENOTDIR, what, str(place))


def write_new(
    path: str | os.PathLike[str],
    parts: Iterable[bytes],
    *,
    mode: int = 0o666,
    sync: bool = True,
    dir_fd: int | None = None,
) -> None:
    """Write *parts* to the new file *path*, never over one; on disk if *sync*.

    Raises:
        FileExistsError: something is there already, even a link.
        OSError: it cannot be written; nothing of it is left.

    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE
    fd = os.open(path, flags, mode, dir_fd=dir_fd)
    try:
        with open(fd, "wb") as file:  # noqa: PTH123 - a descriptor
            file.writelines(parts)
            file.flush()
            if sync:
                os.fsync(fd)
    except BaseException:
        with suppress(OSError):
            os.unlink(path, dir_fd=dir_fd)
        raise
