"""Writing the files of a bundle, as a directory or as a zip file.

Rules:

- Nothing is overwritten. A bundle has its name only once it is whole and on disk: until
  then it is beside it, under a hidden name, and a failure removes it.
- A zip file is that of `muniment.formats.stored_zip`: stored members in the order of
  their names, and nothing else.
"""

from __future__ import annotations

import secrets
import shutil
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from muniment.errors import UsageError
from muniment.files.folder import write_new
from muniment.formats.evidence import BLOBS
from muniment.formats.stored_zip import (
    LARGEST,
    MOST,
    Stored,
    closing_part,
    local_header,
)
from muniment_plugins.evidence.files import Files, Source

__all__ = ["write_files"]

Check = Callable[[Path], object]


def write_files(files: Files, path: Path, check: Check) -> None:
    """Write *files* to the new directory *path*, or to the zip file that it names.

    Args:
        files: the files of the bundle.
        path: a name that nothing has; one that ends in ``.zip`` makes a zip file.
        check: is called with the written bundle, before it gets its name.

    Raises:
        UsageError: something has the name, or it cannot be written.

    """
    if path.is_symlink() or path.exists():
        raise _usage("there is something already", path, "choose another name")
    try:
        with _beside(path) as fresh:
            if path.suffix.lower() == ".zip":
                _write_zip(files, fresh, path)
            else:
                _write_folder(files, fresh)
            check(fresh)
            fresh.rename(path)
    except OSError as error:
        what = f"the bundle cannot be written ({error.strerror or error})"
        raise _usage(what, path, "choose another place") from error


@contextmanager
def _beside(path: Path) -> Generator[Path]:
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
    try:
        yield fresh
    finally:
        if fresh.is_dir():
            shutil.rmtree(fresh, ignore_errors=True)
        else:
            with suppress(FileNotFoundError):
                fresh.unlink()


def _write_folder(files: Files, folder: Path) -> None:
    folder.mkdir()
    if any(name.startswith(f"{BLOBS}/") for name in files):
        (folder / BLOBS).mkdir()
    for name in sorted(files):
        write_new(folder / name, files[name](), sync=False)


def _write_zip(files: Files, fresh: Path, path: Path) -> None:
    if len(files) > MOST:
        what = f"a zip file has at most {MOST} members, and this bundle {len(files)}"
        raise _usage(what, path, "write a directory: a name without .zip")
    write_new(fresh, _zipped(files, path))


def _zipped(files: Files, path: Path) -> Iterator[bytes]:
    members: list[Stored] = []
    at = 0
    for name in sorted(files):
        crc, size = _measured(files[name])
        one = Stored(name, crc, size, at)
        if one.content + size > LARGEST // 2:
            what = "the bundle is too large for a zip file"
            raise _usage(what, path, "write a directory: a name without .zip")
        members.append(one)
        at = one.content + size
        yield local_header(name, crc, size)
        yield from files[name]()
    yield from closing_part(members)


def _measured(source: Source) -> tuple[int, int]:
    crc = size = 0
    for piece in source():
        crc, size = zlib.crc32(piece, crc), size + len(piece)
    return crc, size


def _usage(what: str, path: Path, remedy: str) -> UsageError:
    return UsageError(what, rule="evidence/output", place=str(path), remedy=remedy)
