"""How a record names a function of a program, and its stand-in until it is called.

    {"import": "triage:shuffle_columns", "source": "sha256:…"}
    {"name": "acme:halve/1"}                        if a plugin gave it a stable name

Rules:

- The place of its file and the digests of its files are not part of the name: an edit
  elsewhere in the file makes no other plan, request or fact. They are in the start of
  the run, under ``functions`` (`describe_program`), so that no file is imported before
  it was compared.
- A source is read once, when the function is given, and `Named` keeps it.
- A function whose answers come from the record need not be there: `Remembered` stands
  for it, and looks it up if it is called after all.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol, cast

from muniment.errors import CannotTellError, RefusedError
from muniment.programs.functions import Program, describe

__all__ = [
    "Finder",
    "Function",
    "Named",
    "Remembered",
    "describe_program",
    "named",
    "naming",
    "path_of",
    "plain",
    "refer",
    "require_ready",
    "title_of",
    "whole",
]

Function = Callable[..., object]

_NAMING = ("name", "import", "source")


class Finder(Protocol):
    """Finds functions by their descriptions."""

    def recall(self, described: Mapping[str, object]) -> Function:
        """Return the function that a record *described*.

        Raises:
            CannotTellError: it cannot be found.

        """
        ...


@dataclass(frozen=True, slots=True)
class Named:
    """A function and its description."""

    function: Function
    described: Mapping[str, object]
    """As `describe` returns it, or as a record has it."""
    settled: bool = field(default=False, compare=False)
    """Whether an earlier edition gave it this description, and it is the same."""

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call the function."""
        return self.function(*args, **kwargs)


@dataclass(frozen=True, slots=True)
class Remembered:
    """A recorded function that is looked up when it is called."""

    described: Mapping[str, object]
    finder: Finder = field(compare=False, repr=False)

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call the function.

        Raises:
            CannotTellError: it cannot be found.

        """
        return self.found()(*args, **kwargs)

    def found(self) -> Function:
        """Return the function itself.

        Raises:
            CannotTellError: it cannot be found.

        """
        return self.finder.recall(self.described)


def named(function: Function) -> Named | Remembered:
    """Return *function* with its description, read now."""
    if isinstance(function, Named | Remembered):
        return function
    return Named(function, describe(function))


def refer(function: Function) -> dict[str, object]:
    """Return how a record names *function*, without the place of its file."""
    known = getattr(function, "described", None)
    if isinstance(known, Mapping):
        return naming(cast("Mapping[str, object]", known))
    return naming(describe(function))


def whole(
    described: Mapping[str, object], known: Iterable[Mapping[str, object]]
) -> Mapping[str, object]:
    """Return what is *known* of the function that a record *described*, or that."""
    name = naming(described)
    return next((one for one in known if naming(one) == name), described)


def describe_program(program: Program) -> dict[str, object]:
    """Return how a run describes its *program*, with the functions that it was given.

    A program that was given functions returns them from ``functions_given()``.
    """
    described = describe(program)
    given = getattr(program, "functions_given", None)
    if not callable(given):
        return described
    found: list[Mapping[str, object]] = []
    for one in map(_with_files, cast("Callable[[], Iterable[Function]]", given)()):
        if "files" in one and _is_importable(one) and one not in found:
            found.append(one)
    return {**described, "functions": found}


def require_ready(program: Program, params: Mapping[str, object]) -> None:
    """Let *program* refuse, while nothing is written, if it lacks something.

    Its method ``before_resume`` may take the *params* with which the run began.

    Raises:
        CannotTellError: something cannot be found.
        RefusedError: something is not what was recorded.

    """
    if (ready := getattr(program, "before_resume", None)) is not None:
        ready(params) if inspect.signature(ready).parameters else ready()


def _with_files(function: Function) -> Mapping[str, object]:
    """Return the description of *function*, with its file and their digests."""
    known = cast("Mapping[str, object]", getattr(function, "described", {}))
    if not known.keys().isdisjoint(("file", "name")):
        return known
    # An earlier record has neither: the function as found is what it described.
    with suppress(CannotTellError, RefusedError):
        return describe(plain(function))
    return {}


def _is_importable(described: Mapping[str, object]) -> bool:
    """Tell whether a record's reader may import it: scripts are not imported."""
    module, _, name = str(described.get("import")).partition(":")
    return module != "__main__" and "<" not in name


def naming(described: Mapping[str, object]) -> dict[str, object]:
    """Return the members of *described* that name a function."""
    return {name: described[name] for name in _NAMING if name in described}


def path_of(described: Mapping[str, object]) -> str:
    """Return the stable name in *described*, else the import path."""
    return str(described.get("name") or described["import"])


def title_of(described: Mapping[str, object]) -> str:
    """Return the bare name, without module, prefix or version."""
    last = path_of(described).rpartition(":")[2]
    return last.partition("/")[0] if "name" in described else last


def plain(function: Function) -> Function:
    """Return the function itself, whatever stands for it.

    Raises:
        CannotTellError: it must be looked up, and cannot be found.

    """
    if isinstance(function, Remembered):
        return plain(function.found())
    if isinstance(function, Named):
        return plain(function.function)
    return cast("Function", getattr(function, "plain_function", function))
