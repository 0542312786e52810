"""Programs: how a run knows its program, and how a replay finds it again.

    {"file": "triage.py", "files": {"triage.py": "sha256:…"},
     "import": "triage:main", "source": "sha256:…"}

Rules:

- A program is ``Callable[[Run], result]``, sync or async; its params are keywords.
- It is known by import path and the digest of its source. A closure or a lambda has no
  import path: its replay needs the program given.
- The program of a script, ``__main__``, is found in its file, which is imported under its
  own name: what it does by itself has to stand under its guard. Where it is the script
  that is running already, or has the very same source, it is found there.
- What was not recorded is not imported: see `muniment.program_files`.
"""

from __future__ import annotations

import importlib
import inspect
import shlex
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TypeAlias, cast

from muniment.canonical import JsonValue, sha256_tag
from muniment.errors import CannotTellError, MunimentError, RefusedError
from muniment.imports import importing
from muniment.program_files import files_of, locate, stands_in

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
        file = Path(inspect.getfile(inspect.unwrap(program))).absolute()
        described["file"] = _from_here(file)
        if files := files_of(file, module):
            described["files"] = files
    return described


def _from_here(file: Path) -> str:
    """Return the path from the working directory; only the name where it is outside."""
    try:
        return file.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return file.name


def source_digest(program: Program) -> str | None:
    """Return the digest of the program's source text, or None where there is none."""
    try:
        return sha256_tag(inspect.getsource(program).encode())
    except (OSError, TypeError):
        return None


def find(
    described: Mapping[str, JsonValue] | None, run: str, beside: Path | None = None
) -> Program:
    """Return the program that a run recorded.

    Args:
        described: what the run recorded of it.
        run: the run's id, for messages.
        beside: where the ledger stands; no program is taken from there.

    Raises:
        CannotTellError: it has no import path, or it cannot be imported.
        RefusedError: it is not the one that was recorded, it stands beside the ledger
            only, or its file runs something by itself.

    """
    said = described or {}
    path = str(said.get("import", ""))
    module, _, name = path.partition(":")
    if not name or "<" in name:
        what = f"was {path}, which" if path else "is unknown; it"
        raise _lost(f"the program {what} cannot be imported", run, said)
    if module == "__main__" and _in_this_script(name, said):
        return cast("Program", _attribute(sys.modules["__main__"], name))
    try:
        there = None if module == "__main__" else _loaded(module)
        found = _attribute(there or _imported(said, run, beside), name)
    except MunimentError:
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        message = f"the program {path} cannot be imported ({why})"
        raise _lost(message, run, said) from error
    # A decorator may stand for the function that the run was given.
    return cast("Program", found)


def _imported(
    said: Mapping[str, JsonValue], run: str, beside: Path | None
) -> ModuleType:
    """Import the module of a program, if it is what was recorded."""
    places = list(locate(said))
    for one in places:
        if one.matches(said):
            with importing(str(one.file or one.module)):
                return one.load()
    if places:
        raise RefusedError(
            "the program is not the one that ran: its file changed, or is another",
            rule="program/changed",
            place=str(places[0].file),
            remedy=f"to run it as it is now, name it: {_give(run, said)}",
        )
    there = None if beside is None else stands_in(said, beside)
    if there is not None:
        raise RefusedError(
            "the program stands beside the ledger, and no code is taken from there",
            rule="program/beside",
            place=str(there),
            remedy=f"to run it all the same, name it: {_give(run, said, there)}",
        )
    raise _lost(f"the program {said.get('import')} cannot be imported", run, said)


def _loaded(module: str) -> ModuleType | None:
    """Return a module that this process has, whole: it waits for who is importing it."""
    there = sys.modules.get(module)
    if getattr(getattr(there, "__spec__", None), "_initializing", False):
        return importlib.import_module(module)
    return there


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


def _lost(message: str, run: str, said: Mapping[str, JsonValue]) -> CannotTellError:
    stood = f"; it stood in {said['file']}" if said.get("file") else ""
    return CannotTellError(
        message + stood,
        rule="replay/program",
        place=f"run {run}",
        remedy=f"give the program: {_give(run, said)}",
    )


def _give(run: str, said: Mapping[str, JsonValue], file: Path | None = None) -> str:
    """Return how a program is named, in Python and on the command line."""
    known, name = file or said.get("file"), str(said.get("import")).partition(":")[2]
    target = f"{known}:{name}" if known and name.isidentifier() else "FILE:NAME"
    return (
        f"replay(ledger, run, program=…), or `muniment replay {run} --program "
        f"{shlex.quote(target) if known else target}`"
    )
