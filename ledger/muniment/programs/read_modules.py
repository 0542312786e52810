"""Importing files that were read, and recorded files only as they were recorded.

    with READ.asked(root, {"jobs/triage.py": b"…"}, recorded):
        importlib.import_module("jobs.triage")

Rules:

- The very bytes that were read are compiled: no bytecode beside them is read.
- A file that a run recorded, and that the code imports, is compared before it is
  imported. Files that the run did not record are left to the other finders.
- It may be imported late, by a function that is called: so it is compared as long as the
  run's program runs again (`held`), in all threads that run it. A refusal is kept, since
  the code may swallow it: also one of a function that is looked up when it is called.
- ``sys.meta_path`` only grows: a thread that iterates over a list while another removes
  an item skips a finder, and misses modules that are there.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType

from muniment.encoding.canonical import JsonValue, sha256_tag
from muniment.errors import RefusedError
from muniment.programs.installed import is_installed

__all__ = ["LOADERS", "READ", "ReadModules"]

_PACKAGE = "__init__.py"
_FILES = ("files", "others", "helpers")


@dataclass(slots=True, eq=False)
class _Held:
    """What a run recorded whose program runs again."""

    digests: Mapping[str, set[str]]
    concerns: Callable[[], bool]
    """Tells whether the current thread runs that program."""
    refused: list[RefusedError] = field(default_factory=list[RefusedError])


class ReadModules(MetaPathFinder):
    """Finds modules whose files were read, for the thread that imports them."""

    def __init__(self) -> None:
        self._own = threading.local()
        self._held: tuple[_Held, ...] = ()
        self._changing = threading.Lock()

    @contextmanager
    def held(
        self, recorded: Iterable[Mapping[str, JsonValue]], concerns: Callable[[], bool]
    ) -> Generator[list[RefusedError]]:
        """Compare what is imported meanwhile with *recorded*; give what was refused.

        Only where *concerns* tells that the current thread runs the program.
        """
        one = _Held(_digests(recorded), concerns)
        self._come_first()
        with self._changing:
            self._held = (*self._held, one)
        try:
            yield one.refused
        finally:
            with self._changing:
                self._held = tuple(each for each in self._held if each is not one)

    def keep(self, refusal: RefusedError) -> RefusedError:
        """Keep a *refusal* of what a program that runs again calls, and return it."""
        for one in self._held:
            if one.concerns():
                one.refused.append(refusal)
        return refusal

    def _come_first(self) -> None:
        if sys.meta_path[:1] != [self]:
            sys.meta_path.insert(0, self)

    @contextmanager
    def asked(
        self,
        root: Path,
        contents: Mapping[str, bytes],
        recorded: Iterable[Mapping[str, JsonValue]] = (),
    ) -> Generator[None]:
        """Find the files read below *root*, before any other finder does.

        Other files are compared with *recorded*, descriptions of other code.
        """
        before, known = self._read, self._digests
        self._own.read = ((root, contents), *before)
        self._own.digests = _digests(recorded)
        self._come_first()
        try:
            yield
        finally:
            self._own.read, self._own.digests = before, known

    @property
    def _digests(self) -> Mapping[str, set[str]]:
        return getattr(self._own, "digests", {})

    @property
    def _read(self) -> tuple[tuple[Path, Mapping[str, bytes]], ...]:
        return getattr(self._own, "read", ())

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Return the spec of a file that was read, or of a directory above one.

        Raises:
            RefusedError: it is a recorded file that is another now.

        """
        del target
        specs = (_spec_of(fullname, root, read) for root, read in self._read)
        found = next((spec for spec in specs if spec is not None), None)
        return (
            found
            or _compared(fullname, path, self._digests)
            or self._of_held(fullname, path)
        )

    def _of_held(self, fullname: str, path: Sequence[str] | None) -> ModuleSpec | None:
        for one in self._held:
            if not (_names(fullname) & one.digests.keys() and one.concerns()):
                continue
            try:
                found = _compared(fullname, path, one.digests)
            except RefusedError as refusal:
                one.refused.append(refusal)
                raise
            if found is not None:
                return found
        return None


READ = ReadModules()


def _spec_of(
    fullname: str, root: Path, contents: Mapping[str, bytes]
) -> ModuleSpec | None:
    stem = fullname.replace(".", "/")
    for name in (f"{stem}/{_PACKAGE}", f"{stem}.py"):
        if name in contents:
            file = root / name
            loader = _OfBytes(fullname, str(file), contents[name])
            return importlib.util.spec_from_file_location(fullname, file, loader=loader)
    if any(name.startswith(f"{stem}/") for name in contents):
        spec = ModuleSpec(fullname, None, is_package=True)
        spec.submodule_search_locations = [str(root / stem)]
        return spec
    return None


def _digests(recorded: Iterable[Mapping[str, JsonValue]]) -> dict[str, set[str]]:
    """Return path → digests of the files in descriptions."""
    found: dict[str, set[str]] = {}
    for one in recorded:
        for files in (one.get(member) for member in _FILES):
            for name, digest in files.items() if isinstance(files, dict) else ():
                found.setdefault(name, set()).add(str(digest))
    return found


def _names(fullname: str) -> set[str]:
    """Return the paths that the file of a module may have."""
    stem = fullname.replace(".", "/")
    return {f"{stem}.py", f"{stem}/{_PACKAGE}"}


def _compared(
    fullname: str, path: Sequence[str] | None, digests: Mapping[str, set[str]]
) -> ModuleSpec | None:
    """Return the spec of a module with one of the *digests*, if it has to have one."""
    if not digests.keys() & _names(fullname):
        return None
    spec = PathFinder.find_spec(fullname, path)
    file = Path(spec.origin) if spec is not None and spec.origin else None
    if spec is None or file is None or is_installed(file):
        return None
    data = file.read_bytes()
    stem = fullname.replace(".", "/")
    name = f"{stem}/{_PACKAGE}" if file.name == _PACKAGE else f"{stem}.py"
    if sha256_tag(data) not in digests.get(name, ()):
        raise RefusedError(
            "a file that the run recorded is not the one that ran",
            rule="program/changed",
            place=str(file),
            remedy="put the file back, or name the program to run it as it is now",
        )
    below = spec.submodule_search_locations
    return importlib.util.spec_from_file_location(
        fullname,
        file,
        loader=_OfBytes(fullname, str(file), data),
        submodule_search_locations=below,
    )


class _OfBytes(SourceFileLoader):
    """Compiles the bytes already read, and ignores cached bytecode."""

    def __init__(self, fullname: str, path: str, data: bytes) -> None:
        super().__init__(fullname, path)
        self._data = data

    def path_stats(self, path: str) -> Mapping[str, float]:
        """Raise `OSError`: there is nothing to compare bytecode with."""
        raise OSError(path)

    def get_data(self, path: str) -> bytes:
        """Return the bytes read from the module's own file."""
        return self._data if path == self.path else super().get_data(path)


LOADERS: tuple[type, ...] = (_OfBytes,)
"""The types of the loaders of files that were read."""
