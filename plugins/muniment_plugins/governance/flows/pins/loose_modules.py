"""The loose modules that a flow's functions import, found in their text alone.

    agents.py     import helper          "helper.py": "sha256:…"
    helper.py     from deeper import f   "deeper.py": "sha256:…"

Rules:

- What counts is what the text of a module says by ``import``, anywhere in it, and what
  the modules say that are found so. What happens to be imported beside it does not, and
  nothing is imported for this.
- A module is looked for in the folder from which the function's own module comes, then in
  that of the manifest; nowhere else. What is installed is known by its version.
- The start of a run describes each such module beside the functions, so that a replay and
  a resume compare its file when they import it, as they do with a function's.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import cast

from muniment.encoding.canonical import JsonValue
from muniment.programs.files import files_of, root_of
from muniment.programs.parsing import undisturbed
from muniment.programs.references import Function, Named, StandIn, plain

__all__ = ["described_modules", "modules_beside"]

_PACKAGE = "__init__.py"


def modules_beside(functions: Iterable[Function], folder: Path) -> dict[str, str]:
    """Return path → digest of all loose modules that *functions* import.

    Args:
        functions: functions that are here, whose own files are among the modules.
        folder: that of the manifest.

    """
    found: dict[str, str] = {}
    for one in functions:
        known = _description(one)
        if "files" in known:
            module = str(known["import"]).partition(":")[0]
            file = _file(plain(one), module)
            if file is not None:
                roots = (_root(file, module), folder.absolute())
                _Search(roots, found).add(file, module)
    return dict(sorted(found.items()))


def _description(function: Function) -> Mapping[str, object]:
    return function.described if isinstance(function, StandIn) else {}


def _file(function: Function, module: str) -> Path | None:
    """Return the file of the *module* of a function; of an object, that which made it."""
    try:
        return Path(inspect.getfile(inspect.unwrap(function))).absolute()
    except TypeError:
        name = getattr(sys.modules.get(module), "__file__", None)
        return None if name is None else Path(name).absolute()


def _root(file: Path, module: str) -> Path:
    """Return the folder that a module is imported from."""
    names = module.split(".") + ["__init__"] * (file.name == _PACKAGE)
    if [*file.with_suffix("").parts[-len(names) :]] == names:
        return file.parents[len(names) - 1]
    return root_of(file)


@dataclass(frozen=True, slots=True)
class _Search:
    roots: tuple[Path, ...]
    found: dict[str, str]
    _seen: set[Path] = field(default_factory=set[Path])

    def add(self, file: Path, module: str) -> None:
        """Enter a module, and all that it and its packages import."""
        waiting = [(file, module)]
        while waiting:
            here, name = waiting.pop()
            if here in self._seen:
                continue
            self._seen.add(here)
            files = files_of(here, name)
            if not files:
                continue  # installed
            for path, digest in files.items():
                self.found.setdefault(path, digest)
            package = name if here.name == _PACKAGE else name.rpartition(".")[0]
            for imported in _imported(here, package):
                waiting += self._files(imported)

    def _files(self, module: str) -> Iterator[tuple[Path, str]]:
        """Yield the file of a module and those of the packages above it, if here."""
        parts = module.split(".")
        for count in range(1, len(parts) + 1):
            name = ".".join(parts[:count])
            file = next(filter(Path.is_file, self._places(parts[:count])), None)
            if file is not None:
                yield file, name

    def _places(self, parts: list[str]) -> Iterator[Path]:
        for root in self.roots:
            place = root.joinpath(*parts)
            yield place / _PACKAGE
            yield place.with_name(f"{place.name}.py")


def _imported(file: Path, package: str) -> Iterator[str]:
    """Yield the names that the text of *file*, in *package*, imports."""
    try:
        data = file.read_bytes()
        tree = undisturbed(lambda: ast.parse(data))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return  # importing it would fail, too
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _base(node, package)
            if base is not None:
                yield from (base,) if base else ()
                names = (one.name for one in node.names if one.name != "*")
                yield from (f"{base}.{one}" if base else one for one in names)


def _base(node: ast.ImportFrom, package: str) -> str | None:
    """Return the module that names are imported from; None if it is above everything."""
    if not node.level:
        return node.module
    parts = package.split(".") if package else []
    if node.level > len(parts):
        return None
    left = parts[: len(parts) - node.level + 1]
    return ".".join([*left, node.module] if node.module else left)


def described_modules(
    functions: Iterable[Function], modules: Mapping[str, JsonValue]
) -> list[Function]:
    """Return a stand-in for each of the *modules* in which none of the *functions* is.

    It is never called: the start of a run describes it, with its files.
    """
    known: set[str] = set()
    for one in functions:
        known.update(cast("Mapping[str, str]", _description(one).get("files") or {}))
    return [
        Named(_never_called, _described(path, modules))
        for path in sorted(modules.keys() - known)
    ]


def _described(path: str, modules: Mapping[str, JsonValue]) -> dict[str, object]:
    place = PurePosixPath(path)
    above = [(one / _PACKAGE).as_posix() for one in place.parents if one.name]
    names = sorted({path, *(one for one in above if one in modules)})
    parts = (
        place.parent.parts if place.name == _PACKAGE else place.with_suffix("").parts
    )
    return {
        "import": f"{'.'.join(parts)}:module",
        "file": path,
        "files": {name: modules[name] for name in names},
    }


def _never_called() -> None:
    raise AssertionError("it stands for a module")
