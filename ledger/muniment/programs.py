"""Programs: how a run knows its program, and how a replay finds it again.

    {"file": "triage.py", "import": "triage:main", "source": "sha256:…"}

Rules:

- A program is ``Callable[[Run], result]``, sync or async; its params are keywords.
- It is known by import path and the digest of its source. A closure or a lambda has no
  import path: its replay needs the program given.
- ``__main__`` is never imported for a replay: importing it would run it. Where it is the
  script that is running already, or has the very same source, its program is found.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TypeAlias, cast

from muniment.canonical import JsonValue, sha256_tag
from muniment.errors import CannotTellError

__all__ = ["Program", "describe", "find", "source_digest"]

Program: TypeAlias = "Callable[..., object]"


def describe(program: Program) -> dict[str, object]:
    """Return what a run records about its *program*."""
    module = getattr(program, "__module__", None) or type(program).__module__
    name = getattr(program, "__qualname__", None) or type(program).__qualname__
    described: dict[str, object] = {"import": f"{module}:{name}"}
    digest = source_digest(program)
    if digest is not None:
        described["source"] = digest
    with suppress(TypeError):  # builtins have no file; the import path is all there is
        described["file"] = _from_here(Path(inspect.getfile(program)))
    return described


def _from_here(file: Path) -> str:
    """Return the path from the working directory; only the name where it is outside."""
    try:
        return file.absolute().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return file.name


def source_digest(program: Program) -> str | None:
    """Return the digest of the program's source text, or None where there is none."""
    try:
        return sha256_tag(inspect.getsource(program).encode())
    except (OSError, TypeError):
        return None


def find(described: dict[str, JsonValue] | None, run: str) -> Program:
    """Return the program that a run recorded.

    Raises:
        CannotTellError: it has no import path, or it cannot be imported.

    """
    said = described or {}
    path, file = str(said.get("import", "")), str(said.get("file", ""))
    module, _, name = path.partition(":")
    running = module == "__main__" and _in_this_script(name, said)
    if not name or "<" in name or (module == "__main__" and not running):
        what = f"was {path}, which" if path else "is unknown; it"
        raise _lost(f"the program {what} cannot be imported", run, file, name)
    try:
        found = _attribute(importlib.import_module(module), name)
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        message = f"the program {path} cannot be imported ({why})"
        raise _lost(message, run, file, name) from error
    # A decorator may stand for the function that the run was given.
    return cast("Program", found)


def _attribute(module: ModuleType, name: str) -> object:
    found: object = module
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _in_this_script(name: str, described: Mapping[str, JsonValue]) -> bool:
    """Tell whether the script that is running is the one that had the program."""
    try:
        program = cast("Program", _attribute(sys.modules["__main__"], name))
        file = Path(inspect.getfile(program)).name
    except (AttributeError, OSError, TypeError):  # not there, or nothing with a source
        return False
    source = described.get("source")
    return file == Path(str(described.get("file", ""))).name or (
        source is not None and source == source_digest(program)
    )


def _lost(message: str, run: str, file: str, name: str) -> CannotTellError:
    stood = f"; it stood in {file}" if file else ""
    target = f"{file}:{name}" if file and name.isidentifier() else "FILE:NAME"
    return CannotTellError(
        message + stood,
        rule="replay/program",
        place=f"run {run}",
        remedy="give the program: replay(ledger, run, program=…), or "
        f"`muniment replay {run} --program {target}`",
    )
