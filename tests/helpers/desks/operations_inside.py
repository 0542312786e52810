"""Operations on files, by Python, packages and SQLite, and on what is secret."""

from __future__ import annotations

import bz2
import gzip
import lzma
import mmap
import os
import shutil
import sqlite3
import stat
import sys
import tarfile
import tempfile
import zipfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd  # type: ignore[import-untyped]  # it has none
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet

from operation_world import LIBC, World, c, op, simple

__all__: list[str] = []

# -- files -----------------------------------------------------------------------------

simple("open for writing", "", lambda w: w.fresh().open("w").close())
simple("open for appending", "file", lambda w: w.kept().open("a").close())
simple("open to update", "file", lambda w: w.kept().open("r+").close())
simple("open exclusively", "", lambda w: w.fresh().open("x").close())
simple("os.open, create", "", lambda w: os.close(os.open(w.fresh(), os.O_CREAT)))
simple("os.open, write", "file", lambda w: os.close(os.open(w.kept(), os.O_WRONLY)))
simple("Path.write_bytes", "", lambda w: w.fresh().write_bytes(b"x"))
simple("Path.touch", "", lambda w: w.fresh().touch())
simple("os.remove", "file", lambda w: os.remove(w.kept()))  # noqa: PTH107 - by its name
simple("os.mkdir", "", lambda w: os.mkdir(w.fresh()))  # noqa: PTH102 - the same
simple("os.makedirs", "", lambda w: os.makedirs(w.fresh() / "a"))  # noqa: PTH103 - the same
simple("os.rmdir", "folder", lambda w: os.rmdir(w.kept()))  # noqa: PTH106 - the same
simple("os.rename", "file", lambda w: os.rename(w.kept(), f"{w.fresh()}a"))  # noqa: PTH104 - the same
simple("os.replace", "file", lambda w: os.replace(w.kept(), f"{w.fresh()}a"))  # noqa: PTH105 - the same
simple("os.link", "file", lambda w: os.link(w.kept(), f"{w.fresh()}a"))
simple("os.symlink", "", lambda w: os.symlink("x", w.fresh()))  # noqa: PTH211 - the same
simple("os.truncate", "file", lambda w: os.truncate(w.kept(), 0))
simple("os.chmod", "file", lambda w: os.chmod(w.kept(), 0o600))  # noqa: PTH101 - the same
simple("os.chown", "file", lambda w: os.chown(w.kept(), os.getuid(), os.getgid()))
simple("os.utime", "file", lambda w: os.utime(w.kept(), (1, 1)))
simple("os.setxattr", "file", lambda w: os.setxattr(w.kept(), "user.x", b"y"))
simple("os.mkfifo", "", lambda w: os.mkfifo(w.fresh()))
simple("os.mknod", "", lambda w: os.mknod(w.fresh(), stat.S_IFREG | 0o600))
simple("shutil.copyfile", "file", lambda w: shutil.copyfile(w.kept(), f"{w.kept()}a"))
simple("shutil.move", "file", lambda w: shutil.move(w.kept(), f"{w.kept()}a"))
simple("shutil.rmtree", "folder", lambda w: shutil.rmtree(w.kept()))
simple("a temporary file there", "folder", lambda w: tempfile.mkstemp(dir=w.kept()))
simple("gzip.open", "", lambda w: gzip.open(w.fresh(), "w").close())
simple("bz2.open", "", lambda w: bz2.open(w.fresh(), "w").close())
simple("lzma.open", "", lambda w: lzma.open(w.fresh(), "w").close())
simple("zipfile", "", lambda w: zipfile.ZipFile(w.fresh(), "w").close())
simple("tarfile", "", lambda w: tarfile.open(w.fresh(), "w").close())


@op("fchmod of an open file", "file")
def _(w: World) -> None:
    with w.kept().open() as file:
        os.chmod(file.fileno(), 0o600)  # noqa: PTH101 - an open file has no path


@op("mmap, shared", "file")
def _(w: World) -> None:
    with w.kept().open("r+b") as file, mmap.mmap(file.fileno(), 1) as memory:
        memory[0:1] = b"y"


@op("write to a file opened before", "before")
def _(w: World) -> None:
    os.write(w.before("file"), b"x")  # type: ignore[attr-defined]


@op("sendfile to a file opened before", "before")
def _(w: World) -> None:
    with Path(sys.executable).open("rb") as source:
        os.sendfile(w.before("file"), source.fileno(), 0, 1)  # type: ignore[attr-defined]


@op("ftruncate a file opened before", "before")
def _(w: World) -> None:
    os.ftruncate(w.before("file"), 0)  # type: ignore[attr-defined]


# -- packages --------------------------------------------------------------------------

simple("numpy.save", "", lambda w: np.save(f"{w.fresh()}.npy", np.ones(1)))
simple("numpy.savetxt", "", lambda w: np.savetxt(w.fresh(), np.ones(1)))
simple("ndarray.tofile", "", lambda w: np.ones(1).tofile(w.fresh()))
simple("numpy.memmap", "", lambda w: np.memmap(w.fresh(), mode="w+", shape=(1,)))
_FRAME = pd.DataFrame({"a": [1]})
simple("DataFrame.to_csv", "", lambda w: _FRAME.to_csv(w.fresh()))
simple("DataFrame.to_json", "", lambda w: _FRAME.to_json(w.fresh()))
simple("DataFrame.to_pickle", "", lambda w: _FRAME.to_pickle(w.fresh()))
simple("DataFrame.to_parquet", "", lambda w: _FRAME.to_parquet(f"{w.fresh()}.p"))
simple("DataFrame.to_feather", "", lambda w: _FRAME.to_feather(str(w.fresh())))
_TABLE = pa.table({"a": [1]})
simple(
    "pyarrow.parquet.write_table",
    "",
    lambda w: pyarrow.parquet.write_table(_TABLE, str(w.fresh())),
)
simple("pyarrow.OSFile", "", lambda w: pa.OSFile(str(w.fresh()), "w").close())
simple(
    "pyarrow, make a folder",
    "",
    lambda w: pyarrow.fs.LocalFileSystem().create_dir(str(w.fresh())),
)
simple(
    "pyarrow, delete a file",
    "file",
    lambda w: pyarrow.fs.LocalFileSystem().delete_file(str(w.kept())),
)

# -- SQLite ----------------------------------------------------------------------------


@op("sqlite3, a new database")
def _(w: World) -> None:
    with closing(sqlite3.connect(w.fresh())) as one:
        one.execute("CREATE TABLE t (a)")


@op("SQLite ATTACH")
def _(w: World) -> None:
    with closing(sqlite3.connect(":memory:")) as one:
        one.execute("ATTACH ? AS x", (str(w.fresh()),))
        one.execute("CREATE TABLE x.t (a)")


@op("SQLite VACUUM INTO")
def _(w: World) -> None:
    with closing(sqlite3.connect(":memory:")) as one:
        one.execute("CREATE TABLE t (a)")
        one.execute("VACUUM INTO ?", (str(w.fresh()),))


@op("SQLite ATTACH of the ledger, read")
def _(w: World) -> None:
    with closing(sqlite3.connect(":memory:")) as one:
        one.execute("ATTACH ? AS x", (str(w.base),))
        one.execute("SELECT * FROM x.t").fetchall()


# -- what is secret ---------------------------------------------------------------------

simple("read a key", "", lambda w: w.key.read_text())
simple("os.open a key", "", lambda w: os.close(os.open(w.key, os.O_RDONLY)))
simple("numpy.fromfile of a key", "", lambda w: np.fromfile(w.key, np.uint8))
simple("pyarrow.memory_map of a key", "", lambda w: pa.memory_map(str(w.key)).read())
simple("list the trust home", "", lambda w: os.listdir(w.key.parent))  # noqa: PTH208 - by its name
simple("copy a key", "", lambda w: shutil.copyfile(w.key, f"{w.fresh()}a"))
simple("read the ledger", "", lambda w: w.base.read_bytes())
simple(
    "a key through /proc/self/root",
    "",
    lambda w: Path(f"/proc/self/root{w.key}").read_text(),
)
simple(
    "the parent's environment",
    "",
    lambda _: Path(f"/proc/{os.getppid()}/environ").read_bytes(),
)


@op("ctypes, read a key")
def _(w: World) -> None:
    c(LIBC.open(os.fsencode(w.key), os.O_RDONLY))


@op("ctypes, write a file")
def _(w: World) -> None:
    c(LIBC.open(os.fsencode(w.fresh()), os.O_WRONLY | os.O_CREAT, 0o600))


@op("ctypes, unlink", "file")
def _(w: World) -> None:
    c(LIBC.unlink(os.fsencode(w.kept())))


@op("ctypes, mkdir")
def _(w: World) -> None:
    c(LIBC.mkdir(os.fsencode(w.fresh()), 0o700))
