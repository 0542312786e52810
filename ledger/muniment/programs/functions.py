"""Programs: how a run identifies its program, and how a replay finds it again.

    {"file": "triage.py", "files": {"triage.py": "sha256:…"},
     "import": "triage:main", "source": "sha256:…"}

Rules:

- A program is ``Callable[[Run], result]``, sync or async; its params are keywords.
- It is known by its stable name (`muniment.programs.stable_names`) if a plugin gave it
  one; else by import path and the digest of its source. A closure or a lambda has no
  import path: replay it with the program given.
- A callable object has the import path of the statement that made it
  (`muniment.programs.instances`).
- The program of a script, ``__main__``, is found in its file, which is imported under
  its own name: code that runs the script must be under its guard. If the script is the
  one that is running, or has the very same source, the program is found there.
- Code that was not recorded is not imported (`muniment.programs.files`).
"""

from __future__ import annotations

import importlib
import inspect
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TypeAlias, cast

from muniment.encoding.canonical import JsonValue, sha256_tag
from muniment.errors import CannotTellError, MunimentError, RefusedError
from muniment.programs.files import files_of, locate, stands_in
from muniment.programs.import_guard import importing
from muniment.programs.instances import instance_of
from muniment.programs.parsing import undisturbed
from muniment.programs.stable_names import StableNames, name_of

__all__ = [
    "CHANGED",
    "Program",
    "describe",
    "find",
    "formerly",
    "given_in",
    "source_digest",
    "source_text",
    "undeclared",
]

Program: TypeAlias = "Callable[..., object]"

CHANGED = "program/changed"
"""The rule by which code that is not the recorded one is not imported."""
_NO_NAMES = StableNames()


def describe(program: Program) -> dict[str, object]:
    """Return the description of *program* that a run records."""
    if (stable := name_of(program)) is not None:
        return {"name": stable}
    module, name, digest, file = _found_in(program)
    described: dict[str, object] = {"import": f"{module}:{name}"}
    if digest is not None:
        described["source"] = digest
    if file is not None:
        described["file"] = _from_here(file)
        if files := files_of(file, module):
            described["files"] = files
    return described


def _found_in(program: Program) -> tuple[str, str, str | None, Path | None]:
    """Return module, name, source digest and file of a program without stable name."""
    if (one := instance_of(program)) is not None:
        file = None if one.file is None else Path(one.file).absolute()
        return one.module, one.name, _digest(one.source), file
    module = getattr(program, "__module__", None) or type(program).__module__
    name = getattr(program, "__qualname__", "")
    return module, name, source_digest(program), _file_of(program)


def _file_of(program: Program) -> Path | None:
    try:
        return Path(inspect.getfile(inspect.unwrap(program))).absolute()
    except (OSError, TypeError):  # a builtin: the import path is all there is
        return None


def formerly(program: Program) -> dict[str, str] | None:
    """Return how earlier editions recorded an object or its method: by its class.

    None for every other program.
    """
    if instance_of(program) is None:
        return None
    if not inspect.ismethod(program):
        cls = type(program)
        return {"import": f"{cls.__module__}:{cls.__qualname__}"}
    path = f"{program.__module__}:{program.__qualname__}"
    try:
        text = undisturbed(lambda: inspect.getsource(program))
    except (OSError, TypeError):
        return {"import": path}
    return {"import": path, "source": sha256_tag(text.encode())}


def _from_here(file: Path) -> str:
    """Return the path from the working directory; only the name if it is outside."""
    try:
        return file.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return file.name


def source_text(program: Program) -> str | None:
    """Return the source text of *program*, or None if there is none."""
    if (one := instance_of(program)) is not None:
        return one.source
    try:
        return undisturbed(lambda: inspect.getsource(program))
    except (OSError, TypeError):
        return None


def source_digest(program: Program) -> str | None:
    """Return the digest of the program's source text, or None if there is none."""
    return _digest(source_text(program))


def _digest(text: str | None) -> str | None:
    return None if text is None else sha256_tag(text.encode())


_CALLS = {
    "replay": "replay(ledger, run, program=…)",
    "resume": "ledger.resume(run, program=…)",
    "fork": "ledger.fork(run, at=…, program=…)",
}
"""How a program is given in Python to each command that finds one."""


def find(
    described: Mapping[str, JsonValue] | None,
    run: str,
    beside: Path | None = None,
    names: StableNames = _NO_NAMES,
    act: str = "replay",
) -> Program:
    """Return the program that a run recorded.

    Args:
        described: the run's description of it.
        run: the run's id, for messages.
        beside: the ledger's directory; no program is taken from there.
        names: the stable names that plugins declare.
        act: the command that asks for it, for messages: ``replay``, ``fork --at 12``.

    Raises:
        CannotTellError: it has no import path, or it cannot be imported.
        RefusedError: it is not the recorded one, it is only beside the ledger, or its
            file runs something when it is imported.

    """
    said = described or {}
    if (declared := names.of(said)) is not None:
        return cast("Program", declared.load())
    if "name" in said and "import" not in said:
        raise undeclared(str(said["name"]), run)
    path = str(said.get("import", ""))
    module, _, name = path.partition(":")
    if not name or "<" in name:
        what = f"was {path}, which" if path else "is unknown; it"
        raise _lost(f"the program {what} cannot be imported", run, said, act)
    if module == "__main__" and _in_this_script(name, said):
        return cast("Program", _attribute(sys.modules["__main__"], name))
    try:
        there = None if module == "__main__" else _loaded(module)
        found = _attribute(there or _imported(said, run, beside, act), name)
    except MunimentError:
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        message = f"the program {path} cannot be imported ({why})"
        raise _lost(message, run, said, act) from error
    # A decorator may have replaced the function that the run was given.
    return cast("Program", found)


def given_in(described: Mapping[str, object]) -> list[Mapping[str, JsonValue]]:
    """Return the functions that a program was given, as its record describes them."""
    rows = described.get("functions")
    if not isinstance(rows, list | tuple):
        return []
    found = cast("Sequence[object]", rows)
    return [
        cast("Mapping[str, JsonValue]", one)
        for one in found
        if isinstance(one, Mapping)
    ]


def undeclared(name: str, run: str) -> CannotTellError:
    """Return the error for a program whose stable *name* nothing here declares."""
    return CannotTellError(
        f"no active plugin declares the stable name {name}",
        rule="replay/program",
        place=f"run {run}",
        remedy="install the plugin that it comes from; `muniment plugins` lists those "
        "that are here",
    )


def _imported(
    said: Mapping[str, JsonValue], run: str, beside: Path | None, act: str
) -> ModuleType:
    """Import the module of a program, if it equals the record."""
    places = list(locate(said))
    for one in places:
        if one.matches(said):
            with importing(str(one.file or one.module)):
                return one.load(given_in(said))
    if places:
        raise RefusedError(
            "the program is not the one that ran: its file changed, or is another",
            rule="program/changed",
            place=str(places[0].file),
            remedy=f"to run it as it is now, name it: {_give(run, said, act)}",
        )
    there = None if beside is None else stands_in(said, beside)
    if there is not None:
        raise RefusedError(
            "the program is beside the ledger, and no code is loaded from there",
            rule="program/beside",
            place=str(there),
            remedy=f"to run it anyway, name it: {_give(run, said, act, there)}",
        )
    raise _lost(f"the program {said.get('import')} cannot be imported", run, said, act)


def _loaded(module: str) -> ModuleType | None:
    """Return a loaded module; wait if another thread is still importing it."""
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
    """Tell whether the running script is the one that had the program."""
    try:
        program = cast("Program", _attribute(sys.modules["__main__"], name))
        file = _found_in(program)[3]
    except AttributeError:  # it is not there
        return False
    if file is None:
        return False
    source = described.get("source")
    return file.name == Path(str(described.get("file", ""))).name or (
        source is not None and source == source_digest(program)
    )


def _lost(
    message: str, run: str, said: Mapping[str, JsonValue], act: str
) -> CannotTellError:
    stood = f"; it was in {said['file']}" if said.get("file") else ""
    return CannotTellError(
        message + stood,
        rule="replay/program",
        place=f"run {run}",
        remedy=f"give the program: {_give(run, said, act)}",
    )


def _give(
    run: str, said: Mapping[str, JsonValue], act: str, file: Path | None = None
) -> str:
    """Return how to name a program to *act*, in Python and on the command line."""
    known, name = file or said.get("file"), str(said.get("import")).partition(":")[2]
    target = f"{known}:{name}" if known and name.isidentifier() else "FILE:NAME"
    return (
        f"{_CALLS[act.partition(' ')[0]]}, or `muniment {act} {run} --program "
        f"{shlex.quote(target) if known else target}`"
    )
