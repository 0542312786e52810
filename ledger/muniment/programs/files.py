"""Files of programs: found from a run's record, and compared before the import.

    {"file": "jobs/triage.py", "import": "jobs.triage:main", "source": "sha256:…",
     "files": {"jobs/__init__.py": "sha256:…", "jobs/triage.py": "sha256:…"}}

Rules:

- A ledger says which program ran, never whose code may run. A file is taken from the
  working directory, by the recorded path relative to it; a module from the installed
  packages, or from elsewhere on the path. Never from beside the ledger.
- Code that is not installed must equal the record: the bytes of its file and of the
  packages above it (``files``), or, in a record without them, the text of the program
  (``source``). They are compared without importing anything, not even packages.
- The very bytes that were compared are compiled: no bytecode beside them is read. So are
  those of a file that somebody names: bytecode may be older than a text of the same
  second and size.
- If the code imports another file that the run recorded (``functions``), that is compared
  as well. Files that the run did not record are not.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import (
    SOURCE_SUFFIXES,
    FileFinder,
    ModuleSpec,
    PathFinder,
    SourceFileLoader,
)
from pathlib import Path
from types import ModuleType

from muniment.encoding.canonical import JsonValue, sha256_tag
from muniment.programs.installed import is_installed
from muniment.programs.read_modules import READ
from muniment.programs.source_text import digests_of

__all__ = [
    "Found",
    "files_of",
    "led_to",
    "locate",
    "module_name",
    "root_of",
    "stands_in",
]

_PACKAGE = "__init__.py"


def root_of(file: Path) -> Path:
    """Return the directory that *file* is imported from, above all its packages."""
    directory = file.absolute().parent
    while (directory / _PACKAGE).exists():
        directory = directory.parent
    return directory


def module_name(file: Path, root: Path) -> str:
    """Return the name by which *file* is imported from *root*."""
    parts = file.absolute().relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def files_of(file: Path, module: str) -> dict[str, str]:
    """Return the digests of *file* and of the packages above it, by path from its root.

    Nothing for installed code, which its version identifies.
    """
    if file.suffix not in SOURCE_SUFFIXES or not file.is_file() or is_installed(file):
        return {}
    named = module.split(".") if module != "__main__" else []
    tail = [*named, "__init__"] if file.name == _PACKAGE else named
    parts = list(file.with_suffix("").parts[-len(tail) :]) if tail else []
    root = file.parents[len(tail) - 1] if tail and parts == tail else root_of(file)
    return {name: sha256_tag(data) for name, data in _contents(file, root).items()}


def _contents(file: Path, root: Path) -> dict[str, bytes]:
    above = [one / _PACKAGE for one in file.parents if one.is_relative_to(root)]
    read = {file, *(one for one in above if one.parent != root and one.is_file())}
    return {one.relative_to(root).as_posix(): one.read_bytes() for one in sorted(read)}


@dataclass(frozen=True, slots=True)
class Found:
    """A module, found without importing anything."""

    module: str
    file: Path | None
    """Its file; None for built-in or installed modules."""
    root: Path | None = None
    contents: Mapping[str, bytes] | None = None
    """The bytes of it and of its packages, by path from *root*."""

    @classmethod
    def named(cls, file: Path) -> Found:
        """Return the module of a *file* that somebody named, with what is in it now."""
        file, root = file.absolute(), root_of(file)
        return cls(module_name(file, root), file, root, _contents(file, root))

    def matches(self, described: Mapping[str, JsonValue]) -> bool:
        """Tell whether it is what a run *described*; installed code always is."""
        if self.file is None or self.root is None or self.contents is None:
            return True
        files = described.get("files")
        if isinstance(files, dict):
            return files == {n: sha256_tag(data) for n, data in self.contents.items()}
        text = self.contents[self.file.relative_to(self.root).as_posix()]
        name = str(described.get("import", "")).partition(":")[2]
        return described.get("source") in digests_of(text, name.split("."))

    def load(self, recorded: Iterable[Mapping[str, JsonValue]] = ()) -> ModuleType:
        """Import it from the bytes that were read.

        Args:
            recorded: other code that the run described, and this may import.

        Raises:
            RefusedError: it imports a file that is not the recorded one.
            Exception: whatever its code raises.

        """
        if self.root is None or self.contents is None:
            return importlib.import_module(self.module)
        if str(self.root) not in sys.path:
            sys.path.append(str(self.root))
        for folder in {str((self.root / name).parent) for name in self.contents}:
            # Its finder lists it now, as it would for an import: later a replay may not.
            PathFinder.find_spec(self.module, [folder])
        with READ.asked(self.root, self.contents, recorded):
            return importlib.import_module(self.module)


def locate(described: Mapping[str, JsonValue]) -> Iterator[Found]:
    """Yield the places where the module that a run *described* may be, best first."""
    module = str(described.get("import", "")).partition(":")[0]
    here = [
        Found(name, file, root, _contents(file, root))
        for name, file, root in _places(described, Path.cwd())
    ]
    yield from (one for one in here if one.matches(described))
    yield from () if module in {"", "__main__"} else _on_the_path(module)
    yield from here


def stands_in(described: Mapping[str, JsonValue], base: Path) -> Path | None:
    """Return the file below *base* that has the name of the one a run *described*."""
    return next((file for _, file, _ in _places(described, base)), None)


def led_to(described: Mapping[str, JsonValue], base: Path) -> list[Path]:
    """Return the targets of links in place of the files that a run *described*.

    Only if the files equal the record, whose digests cover their bytes.
    """
    found = [
        Found(name, file, root, _contents(file, root))
        for name, file, root in _places(described, base)
    ]
    files = {
        one.root / name
        for one in found
        if one.root is not None and one.contents is not None and one.matches(described)
        for name in one.contents
    }
    return sorted(one.resolve() for one in files if one.is_symlink())


def _places(
    described: Mapping[str, JsonValue], base: Path
) -> Iterator[tuple[str, Path, Path]]:
    """Yield module, file and root at the recorded place below *base*."""
    module = str(described.get("import", "")).partition(":")[0]
    said, stem = described.get("file"), module.replace(".", "/")
    names = [] if module == "__main__" else [f"{stem}.py", f"{stem}/{_PACKAGE}"]
    for one in dict.fromkeys([said, *names] if isinstance(said, str) else names):
        relative = Path(one)
        if relative.is_absolute() or ".." in relative.parts:
            continue
        file = base / relative
        if relative.suffix not in SOURCE_SUFFIXES or not file.is_file():
            continue
        own, root = module_name(file, root_of(file)), root_of(file)
        if module == "__main__" or (own == module and not root.is_relative_to(base)):
            yield own, file, root  # the base may be in the package
        for name in names:
            if f"/{relative.as_posix()}".endswith(f"/{name}"):
                yield module, file, file.parents[len(Path(name).parts) - 1]


def _on_the_path(module: str) -> Iterator[Found]:
    """Yield the module as the import system would find it, without importing."""
    origin = _origin(module)
    if origin is None:
        return
    file = Path(origin)
    if origin in ("built-in", "frozen") or is_installed(file):
        yield Found(module, None)
    elif file.suffix in SOURCE_SUFFIXES and file.is_file():
        parts = len(module.split(".")) - (file.name != _PACKAGE)
        root = file.parents[parts]
        yield Found(module, file, root, _contents(file, root))


def _origin(module: str) -> str | None:
    """Return the file of *module*; its parents are looked up, but not imported."""
    first, *rest = module.split(".")
    spec = _top(first)
    name = first
    for part in rest:
        if spec is None:
            return None
        name = f"{name}.{part}"
        spec = _below(name, list(spec.submodule_search_locations or ()))
    return None if spec is None else spec.origin


def _top(name: str) -> ModuleSpec | None:
    for finder in (*sys.meta_path,):  # as it is now, whoever changes it meanwhile
        if finder is READ:
            continue  # it compares what is imported: nothing is, here
        asked = getattr(finder, "find_spec", None)  # an old one may have none
        spec: ModuleSpec | None = None if asked is None else asked(name, None)
        if spec is not None:
            return spec
    return None


def _below(name: str, directories: Sequence[str]) -> ModuleSpec | None:
    """Return the spec of a submodule; `PathFinder` would ask its parent's module."""
    portions: list[str] = []
    for directory in directories:
        spec = FileFinder(directory, *_LOADERS).find_spec(name)
        if spec is not None and spec.loader is not None:
            return spec
        portions += [] if spec is None else spec.submodule_search_locations or []
    if not portions:
        return None
    package = ModuleSpec(name, None, is_package=True)
    package.submodule_search_locations = portions
    return package


def _loaders() -> list[tuple[type, list[str]]]:
    from importlib.machinery import (  # noqa: PLC0415 - for one constant
        EXTENSION_SUFFIXES,
        ExtensionFileLoader,
    )

    return [
        (ExtensionFileLoader, EXTENSION_SUFFIXES),
        (SourceFileLoader, SOURCE_SUFFIXES),
    ]


_LOADERS = _loaders()
