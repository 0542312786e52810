"""The program that a command names: ``file.py``, ``file.py:name``, ``module:name``.

Rules:

- A file is imported under its own module name, from its own directory, never as
  ``__main__``: so a replay finds the program again by its record. What is compiled is its
  text, whatever bytecode is beside it.
- Without a name the program is ``main``; else the only one that the file makes: a
  function of its own that takes a run, or an object that can run itself on a ledger.
- Such an object has a method ``run`` that takes ``ledger``; so this module runs an
  experiment of the harness without knowing it.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.machinery import BuiltinImporter, FrozenImporter
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal, Protocol, TypedDict, cast

import click

from muniment.errors import CannotTellError, RefusedError, UsageError
from muniment.programs.files import Found
from muniment.programs.import_guard import RULE
from muniment.runs.privacy.private_errors import said_of
from muniment_cli.replay.graph_input import STDIN, ceiling_in
from muniment_cli.shell.exact_json import once
from muniment_cli.shell.options import pairs

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.ledger import Ledger

__all__ = [
    "Source",
    "Target",
    "Wanted",
    "is_async",
    "is_flow_file",
    "load_source",
    "param",
    "wanted_of",
]

Program = Callable[..., object]

_FILE_OR_MODULE = "give a Python file, a flow, a graph, or module:name"
_FLOWS = frozenset({".json", ".yaml", ".yml", ".toml"})


class Wanted(TypedDict):
    """The options of a run."""

    params: dict[str, object]
    name: str | None
    labels: dict[str, str]
    tenant: str
    mode: Literal["live", "dry"]
    task: str | None
    """What a graph is to do."""
    artifacts: tuple[str, ...]
    """The files that a graph is given."""
    ceiling: Path | None
    """The file of the policy that a graph is held to."""


def wanted_of(
    params: tuple[str, ...],
    *,
    task: str | None = None,
    artifacts: tuple[str, ...] = (),
    ceiling: Path | None = None,
    dry: bool = False,
) -> Wanted:
    """Return the options of a run in which only these were given.

    Raises:
        click.UsageError: a param is no ``KEY=VALUE``, or two say one thing.
        UsageError: the ceiling cannot be read.

    """
    said: dict[str, object] = {
        key: param(text) for key, text in pairs(params, "param").items()
    }
    if ceiling is not None:
        if "ceiling" in said:
            raise click.UsageError("--ceiling and -p ceiling say one thing: write one")
        said["ceiling"] = ceiling_in(ceiling)
    return {
        "params": said,
        "name": None,
        "labels": {},
        "tenant": "default",
        "mode": "dry" if dry else "live",
        "task": task,
        "artifacts": artifacts,
        "ceiling": ceiling,
    }


def param(text: str) -> JsonValue:
    """Return the value of a param: JSON if it is that, otherwise the text.

    Raises:
        click.UsageError: it is JSON that readers take differently.

    """
    try:
        return cast("JsonValue", json.loads(text, object_pairs_hook=once))
    except json.JSONDecodeError:
        return text
    except ValueError as error:
        raise click.UsageError(f"{text:.60}: {error}") from None


class ExperimentLike(Protocol):
    """An object that runs itself on a ledger, such as an experiment of the harness."""

    def run(self, *, ledger: Ledger, **params: object) -> object:
        """Run on *ledger*; the result has a ``run_id``."""
        ...


@dataclass(frozen=True, slots=True)
class Target:
    """The imported object that a command line named."""

    name: str
    value: object

    @property
    def experiment(self) -> ExperimentLike | None:
        """The named object, if it runs itself."""
        return cast("ExperimentLike", self.value) if _runs_itself(self.value) else None

    @property
    def program(self) -> Program:
        """The named program, or that of the experiment.

        Raises:
            UsageError: the named object cannot be called.

        """
        program = getattr(self.value, "program", self.value)
        if callable(program):
            return program
        raise UsageError(
            f"it is not a program, but of type {type(self.value).__name__}",
            rule="run/program",
            place=self.name,
            remedy="name a function that takes a run: `file.py:name`",
        )


def _runs_itself(value: object) -> bool:
    run = getattr(value, "run", None)
    if isinstance(value, (type, ModuleType)) or not callable(run):
        return False
    try:
        return "ledger" in inspect.signature(run).parameters
    except ValueError:
        return False  # a builtin without a signature


def is_async(program: Program) -> bool:
    """Tell whether *program* must be awaited."""
    call = getattr(program, "__call__", None)  # noqa: B004 - the method is inspected
    return inspect.iscoroutinefunction(program) or inspect.iscoroutinefunction(call)


@dataclass(frozen=True, slots=True)
class Source:
    """An imported module, and the given name in it, if any."""

    place: str
    name: str
    module: ModuleType

    def target(self) -> Target:
        """Return the named object, or the only one that can be meant.

        Raises:
            UsageError: there is no such name, or several.

        """
        if self.name:
            found = _named(self.module, self.name, self.place)
            return Target(f"{self.place}:{self.name}", found)
        return _only(self.module, self.place)


def is_flow_file(target: str) -> bool:
    """Tell whether what a command line named is the file of a flow."""
    return target == STDIN or Path(target).suffix.lower() in _FLOWS


def load_source(text: str) -> Source:
    """Import the file or module of *text*, which runs its top-level code.

    Raises:
        UsageError: there is no such file or module.
        CannotTellError: importing it fails.

    """
    place, name = _split(text)
    if is_flow_file(place):
        raise UsageError(
            "a document is no file with programs in it",
            rule="run/format",
            place=text,
            remedy=f"`muniment run {place}` runs it as a whole",
        )
    if place.endswith(".py"):
        return Source(place, name, _import_file(Path(place)))
    if not all(part.isidentifier() for part in place.split(".")):
        raise UsageError(
            f"{place!r} is neither a file that ends in .py nor the name of a module",
            rule="run/file",
            place=text,
            remedy=_FILE_OR_MODULE,
        )
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    load = partial(importlib.import_module, place)
    return Source(place, name, _import(load, place, place))


def _split(text: str) -> tuple[str, str]:
    """Return file or module, and the name after the last colon."""
    place, colon, name = text.rpartition(":")
    drive = len(place) == 1 and name[:1] in ("\\", "/")
    return (place, name) if colon and not drive else (text, "")


def _import_file(file: Path) -> ModuleType:
    if not file.is_file():
        raise UsageError(
            "there is no such file",
            rule="run/file",
            place=str(file),
            remedy=_FILE_OR_MODULE,
        )
    there = Found.named(file)
    name = there.module
    if not all(part.isidentifier() for part in name.split(".")):
        raise UsageError(
            f"{name!r} is not the name of a module",
            rule="run/module-name",
            place=str(file),
            remedy="call the file by letters, digits and underscores, as in triage.py",
        )
    sys.path.insert(0, str(there.root))
    standard = any(one.find_spec(name) for one in (BuiltinImporter, FrozenImporter))
    load = partial(importlib.import_module, name) if standard else there.load
    module = _import(load, name, str(file))
    found = getattr(module, "__file__", None)
    if found is None or not Path(found).samefile(file):
        raise UsageError(
            f"the name {name} is taken by another module ({found or 'built in'})",
            rule="run/module-name",
            place=str(file),
            remedy="call the file by another name",
        )
    return module


def _import(load: Callable[[], ModuleType], name: str, place: str) -> ModuleType:
    try:
        return load()
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise UsageError(
                f"there is no module {error.name}",
                rule="run/module",
                place=place,
                remedy="give a file that ends in .py, or a module on the path",
            ) from error
        raise _broken(error, place) from error
    except Exception as error:
        if isinstance(error, RefusedError) and error.rule == RULE:
            raise
        raise _broken(error, place) from error


def _broken(error: Exception, place: str) -> CannotTellError:
    line: int | None = None
    if isinstance(error, SyntaxError):
        line = error.lineno
    else:
        trace = (
            inspect.getinnerframes(error.__traceback__) if error.__traceback__ else []
        )
        lines = [
            one.lineno for one in trace if Path(one.filename).name == Path(place).name
        ]
        line = lines[-1] if lines else None
    text = error.msg if isinstance(error, SyntaxError) else said_of(error, error)
    return CannotTellError(
        f"importing it fails: {type(error).__name__}: {text}",
        rule="run/import",
        place=place if line is None else f"{place}, line {line}",
        remedy="--debug shows the traceback",
    )


def _named(module: ModuleType, name: str, place: str) -> object:
    found: object = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            offers = ", ".join(_offers(module)) or "no program"
            meant = difflib.get_close_matches(name, vars(module), n=1)
            raise UsageError(
                f"there is no {name} in it",
                rule="run/name",
                place=place,
                remedy=f"did you mean {meant[0]}?" if meant else f"it has {offers}",
            ) from None
    return found


def _only(module: ModuleType, place: str) -> Target:
    offers = _offers(module)
    if "main" in offers:
        offers = {"main": offers["main"]}
    if len(offers) == 1:
        name, value = next(iter(offers.items()))
        return Target(f"{place}:{name}", value)
    raise UsageError(
        f"several programs are in it: {', '.join(offers)}"
        if offers
        else "no program is in it",
        rule="run/name",
        place=place,
        remedy=f"name one: `{place}:{next(iter(offers))}`"
        if offers
        else "define a function whose first parameter is called run, or name a graph: "
        f"`{place}:NAME`",
    )


def _offers(module: ModuleType) -> dict[str, object]:
    """Return the programs that *module* makes itself, by name."""
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_") and _is_offer(value, module.__name__)
    }


def _is_offer(value: object, module: str) -> bool:
    if inspect.isfunction(value):
        first = next(iter(inspect.signature(value).parameters), "")
        return value.__module__ == module and first == "run"
    if isinstance(value, (type, ModuleType)):
        return False
    return _runs_itself(value)
