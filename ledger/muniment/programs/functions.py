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
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TypeAlias, cast

from muniment.encoding.canonical import JsonValue, sha256_tag
from muniment.errors import MunimentError, RefusedError
from muniment.programs.called.helpers import helpers_of
from muniment.programs.called.layers import (
    code_in,
    file_of,
    instructions_of,
    kinds_of,
    layers_of,
    module_of,
    stood_for,
    text_of,
    wrapping_text,
)
from muniment.programs.called.loaded import is_stale
from muniment.programs.called.paths import (
    path_of_callable,
    require_method,
    require_path,
)
from muniment.programs.files import files_of, locate, stands_in
from muniment.programs.import_guard import importing
from muniment.programs.installed import is_installed
from muniment.programs.instances import instance_of
from muniment.programs.refusals import CHANGED, changed, give, lost, undeclared
from muniment.programs.source_text import source_of
from muniment.programs.stable_names import StableNames, name_of

__all__ = [
    "CHANGED",
    "Program",
    "changed_in",
    "describe",
    "find",
    "formerly",
    "given_in",
    "source_digest",
    "source_text",
    "undeclared",
]

Program: TypeAlias = "Callable[..., object]"

_NO_NAMES = StableNames()


def describe(program: Program) -> dict[str, object]:
    """Return the description of *program* that a run records.

    Raises:
        UsageError: its import path leads to something else.

    """
    if (stable := name_of(program)) is not None:
        return {"name": stable}
    found = _found_in(program)
    described: dict[str, object] = {"import": f"{found.module}:{found.name}"}
    layers = layers_of(program)
    stale = any(is_stale(function) for function, _ in code_in(program))
    digest = None if stale else _digest(found.source)
    if digest is not None:
        described["source"] = digest
    elif (code := instructions_of(layers[0])) is not None:
        described["code"] = code
    if found.file is None:
        return described
    described["file"] = _from_here(found.file)
    files = {} if stale else files_of(found.file, found.module)
    if files:
        described["files"] = files
    if others := _others(layers, files, found.file):
        described["others"] = others
    return described


@dataclass(frozen=True, slots=True)
class _FoundIn:
    """Where a program without a stable name is."""

    module: str
    name: str
    source: str | None
    file: Path | None


def _found_in(program: Program) -> _FoundIn:
    source = source_text(program)
    if (one := instance_of(program)) is not None:
        require_method(program, f"{one.module}:{one.name}")
        file = None if one.file is None else Path(one.file).absolute()
        return _FoundIn(one.module, one.name, source, file)
    module, name = path_of_callable(program)
    require_path(program, module, name)
    return _FoundIn(module, name, source, _file_of(program))


def _others(
    layers: list[object], known: Mapping[str, str], first: Path
) -> dict[str, str]:
    """Return the digests of files beside the *first* with code of *layers*.

    Or of the classes of those that are objects.
    """
    parts = [
        part
        for one in layers
        for part in ([one] if isinstance(one, FunctionType) else kinds_of(one))
    ]
    found: dict[str, str] = {}
    for part in parts:
        file = file_of(part)
        if file is not None and file != first:
            found.update(files_of(file, module_of(part)))
    return {name: found[name] for name in sorted(found.keys() - known.keys())}


def _file_of(program: Program) -> Path | None:
    try:
        return Path(inspect.getfile(inspect.unwrap(program))).absolute()
    except (OSError, TypeError, ValueError):  # a builtin: the path is all there is
        return None


def formerly(program: Program) -> dict[str, str] | None:
    """Return how earlier editions recorded an object or its method: by its class.

    And what wraps a function: by that. None for every other program.
    """
    if instance_of(program) is None:
        return _formerly_wrapped(program)
    if not inspect.ismethod(program):
        cls = type(program)
        return {"import": f"{cls.__module__}:{cls.__qualname__}"}
    path = f"{program.__module__}:{program.__qualname__}"
    try:
        text = source_of(program)
    except (OSError, TypeError):
        return {"import": path}
    return {"import": path, "source": sha256_tag(text.encode())}


def _formerly_wrapped(program: Program) -> dict[str, str] | None:
    if len(layers_of(program)) == 1:
        return None
    module, name = path_of_callable(program)
    try:
        text = source_of(program)
    except (OSError, TypeError, ValueError):
        return {"import": f"{module}:{name}"}
    return {"import": f"{module}:{name}", "source": sha256_tag(text.encode())}


def _from_here(file: Path) -> str:
    """Return the path from the working directory; only the name if it is outside."""
    try:
        return file.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return file.name


def source_text(program: Program) -> str | None:
    """Return the source text of *program* and of what it wraps; None if there is none."""
    layers, one = layers_of(program), instance_of(program)
    if len(layers) > 1:
        known = None if one is None or "<" in one.name else one.source
        return wrapping_text(layers, known)
    if one is not None:
        return one.source
    return text_of(layers[0])


def source_digest(program: Program) -> str | None:
    """Return the digest of the program's source text, or None if there is none."""
    return _digest(source_text(program))


def _digest(text: str | None) -> str | None:
    return None if text is None else sha256_tag(text.encode())


def find(
    described: Mapping[str, JsonValue] | None,
    run: str,
    beside: Path | None = None,
    names: StableNames = _NO_NAMES,
    act: str = "replay",
    same: bool = False,
) -> Program:
    """Return the program that a run recorded.

    Args:
        described: the run's description of it.
        run: the run's id, for messages.
        beside: the ledger's directory; no program is taken from there.
        names: the stable names that plugins declare.
        act: the command that asks for it, for messages: ``replay``, ``fork --at 12``.
        same: whether what is loaded already has to be what ran, as it has to be for every
            act that goes live; else the script that runs and its modules count as they are.

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
        raise lost(f"the program {what} cannot be imported", run, said, act)
    same = same or act != "replay"
    if module == "__main__" and _in_this_script(name, said):
        here = cast("Program", _attribute(sys.modules["__main__"], name))
        place = changed_in(here, said) if same else None
        if place is None:
            return here
        if "file" not in said or "files" not in said:  # it is nowhere else
            raise changed(run, said, act, place)
    try:
        there = None if module == "__main__" else _loaded(module)
        found = _attribute(there or _imported(said, run, beside, act), name)
    except (MunimentError, KeyboardInterrupt):
        raise
    except BaseException as error:  # also `sys.exit` of a module
        why = f"{type(error).__name__}: {error}"
        message = f"the program {path} cannot be imported ({why})"
        raise lost(message, run, said, act) from error
    # A decorator may have replaced the function that the run was given.
    if same and (place := changed_in(cast("Program", found), said)) is not None:
        raise changed(run, said, act, place)
    return cast("Program", found)


def changed_in(program: Program, said: Mapping[str, object]) -> str | None:
    """Return in which file, or where, *program* is not what a record *said*, if at all.

    It is compared by its files and instructions; in a record without them, by its text.
    """
    present, file = describe(cast("Program", stood_for(program))), _file_of(program)
    known = {"files", "code"} & present.keys()
    if not known and file is not None and is_installed(file):
        return None  # its version identifies it
    place = str(present.get("file") or present.get("import") or present.get("name"))
    compared = [one for one in ("files", "others", "code") if one in said]
    for one in compared:
        if (was := said[one]) != (now := present.get(one)):
            return _first_difference(was, now) or place
    if (helpers := said.get("helpers")) is not None:
        # What is named may be set later: compared is what is there both times.
        now = helpers_of(stood_for(program))
        was = cast("Mapping[str, object]", helpers)
        for name in was.keys() & now.keys():
            if was[name] != now[name]:
                return name
    source = said.get("source")
    same = compared or source is None or source in _sources_of(program)
    return None if same else place


def _sources_of(program: Program) -> set[str]:
    """Return the digests by which a record may know the text of *program*."""
    before = (formerly(program) or {}).get("source")
    return {one for one in (source_digest(program), before) if one is not None}


def _first_difference(was: object, now: object) -> str | None:
    """Return the first file with another digest; None if these are no files."""
    if not isinstance(was, Mapping):
        return None
    files = cast("Mapping[str, object]", was)
    others = cast("Mapping[str, object]", now if isinstance(now, Mapping) else {})
    return next((name for name in files if files[name] != others.get(name)), None)


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
        raise changed(run, said, act, str(places[0].file))
    there = None if beside is None else stands_in(said, beside)
    if there is not None:
        raise RefusedError(
            "the program is beside the ledger, and no code is loaded from there",
            rule="program/beside",
            place=str(there),
            remedy=f"to run it anyway, name it: {give(run, said, act, there)}",
        )
    raise lost(f"the program {said.get('import')} cannot be imported", run, said, act)


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
        file = _found_in(program).file
    except AttributeError:  # it is not there
        return False
    if file is None:
        return False
    return file.name == Path(str(described.get("file", ""))).name or (
        described.get("source") in _sources_of(program)
    )
