"""Files of programs: found by what a run recorded, and compared before the import.

    {"file": "jobs/triage.py", "import": "jobs.triage:main", "source": "sha256:…",
     "files": {"jobs/__init__.py": "sha256:…", "jobs/triage.py": "sha256:…"}}

Rules:

- A ledger says which program ran, never whose code may run. A file is taken from the
  working directory, by the path that was recorded relative to it; a module from the
  installed packages, or from elsewhere on the path. Never from beside the ledger.
- What is not installed has to be what was recorded: the bytes of its file and of the
  packages above it (``files``), or, in a record without them, the text of the program
  (``source``). They are compared without importing anything, packages neither.
- The very bytes that were compared are compiled: no bytecode beside them is read.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import io
import site
import sys
import sysconfig
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import (
    SOURCE_SUFFIXES,
    FileFinder,
    ModuleSpec,
    SourceFileLoader,
)
from pathlib import Path
from types import ModuleType

from muniment.canonical import JsonValue, sha256_tag

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
    """Return the directory that *file* is imported from: above all its packages."""
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

    Of what is installed nothing: its version says what it is.
    """
    if file.suffix not in SOURCE_SUFFIXES or not file.is_file() or _is_installed(file):
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
    """Where it stands; None for what is built in or installed."""
    root: Path | None = None
    contents: Mapping[str, bytes] | None = None
    """What was read of it and of its packages, by path from *root*."""

    def matches(self, described: Mapping[str, JsonValue]) -> bool:
        """Tell whether it is what a run *described*; what is installed always is."""
        if self.file is None or self.root is None or self.contents is None:
            return True
        files = described.get("files")
        if isinstance(files, dict):
            return files == {n: sha256_tag(data) for n, data in self.contents.items()}
        text = self.contents[self.file.relative_to(self.root).as_posix()]
        name = str(described.get("import", "")).partition(":")[2]
        return described.get("source") in _sources(text, name.split("."))

    def load(self) -> ModuleType:
        """Import it, of the bytes that were read.

        Raises:
            Exception: whatever its code raises.

        """
        if self.root is None or self.contents is None:
            return importlib.import_module(self.module)
        if str(self.root) not in sys.path:
            sys.path.append(str(self.root))
        finder = _Read(self.root, self.contents)
        sys.meta_path.insert(0, finder)
        try:
            return importlib.import_module(self.module)
        finally:
            sys.meta_path.remove(finder)


class _Read(MetaPathFinder):
    """Finds the modules whose files were read, and the directories above them."""

    def __init__(self, root: Path, contents: Mapping[str, bytes]) -> None:
        self._root = root
        self._contents = contents

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Return the spec of a file that was read, or of a directory on its way."""
        del path, target
        stem = fullname.replace(".", "/")
        for name in (f"{stem}/{_PACKAGE}", f"{stem}.py"):
            if name in self._contents:
                file = self._root / name
                loader = _OfBytes(fullname, str(file), self._contents[name])
                return importlib.util.spec_from_file_location(
                    fullname, file, loader=loader
                )
        if any(name.startswith(f"{stem}/") for name in self._contents):
            spec = ModuleSpec(fullname, None, is_package=True)
            spec.submodule_search_locations = [str(self._root / stem)]
            return spec
        return None


class _OfBytes(SourceFileLoader):
    """Compiles what was read already, whatever stands in a cache of bytecode."""

    def __init__(self, fullname: str, path: str, data: bytes) -> None:
        super().__init__(fullname, path)
        self._data = data

    def path_stats(self, path: str) -> Mapping[str, float]:
        """Say that there is nothing to compare bytecode with."""
        raise OSError(path)

    def get_data(self, path: str) -> bytes:
        """Return what was read of the module's own file."""
        return self._data if path == self.path else super().get_data(path)


def locate(described: Mapping[str, JsonValue]) -> Iterator[Found]:
    """Yield where the module may stand that a run *described*, best first."""
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
    """Return where links lead in the place of the files that a run *described*.

    Only of those that are what was recorded: what they hold is in the record's digests.
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
    """Yield the module as the import system would find it, nothing imported."""
    origin = _origin(module)
    if origin is None:
        return
    file = Path(origin)
    if origin in ("built-in", "frozen") or _is_installed(file):
        yield Found(module, None)
    elif file.suffix in SOURCE_SUFFIXES and file.is_file():
        parts = len(module.split(".")) - (file.name != _PACKAGE)
        root = file.parents[parts]
        yield Found(module, file, root, _contents(file, root))


def _origin(module: str) -> str | None:
    """Return where *module* stands; its parents are looked up, and not imported."""
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
    for finder in sys.meta_path:
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


@cache
def _installed_in() -> tuple[Path, ...]:
    """Return the directories of the standard library and of installed packages.

    Those that a ``.pth`` file names are among them: so are packages installed that are
    being worked on.
    """
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    paths = {sysconfig.get_path(one) for one in names}
    sites = {*site.getsitepackages(), site.getusersitepackages()}
    known = {Path(one) for one in paths | sites if one}
    named = (
        Path(line)
        for folder in map(Path, sites)
        for file in folder.glob("*.pth")
        for line in file.read_text("utf-8", "replace").splitlines()
    )
    known |= {one for one in named if one.is_absolute() and one.is_dir()}
    return tuple(one.resolve() for one in known)


def _is_installed(file: Path) -> bool:
    real = file.resolve()
    return any(real.is_relative_to(one) for one in _installed_in())


def _sources(data: bytes, name: Sequence[str]) -> set[str]:
    """Return the digests of all definitions of *name*, as `inspect.getsource` cuts."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = io.TextIOWrapper(io.BytesIO(data), encoding).read()
        tree = ast.parse(text)
    except (SyntaxError, UnicodeDecodeError, ValueError):
        return set()
    lines = io.StringIO(text).readlines()
    starts = [_first_line(node) for node in _definitions(tree, name)]
    blocks = ["".join(inspect.getblock(lines[start - 1 :])) for start in starts]
    return {sha256_tag(block.encode()) for block in blocks}


_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _definitions(tree: ast.AST, name: Sequence[str]) -> Iterator[_Definition]:
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, _Definition):
            yield from _definitions(node, name)
        elif node.name == name[0]:
            if len(name) == 1:
                yield node
            else:
                yield from _definitions(node, name[1:])


def _first_line(node: _Definition) -> int:
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])
