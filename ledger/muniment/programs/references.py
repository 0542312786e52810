"""How a record names a function of a program, and its stand-in until it is called.

    {"import": "triage:shuffle_columns", "source": "sha256:…"}
    {"name": "acme:halve/1"}                        if a plugin gave it a stable name

Rules:

- The place of its file and the digests of its files are not part of the name: an edit
  elsewhere in the file makes no other plan, request or fact. They are in the start of
  the run, under ``functions`` (`describe_program`), so that no file is imported, and no
  function of a script is called again, before it was compared.
- A source is read once, when the function is given, and `Named` keeps it.
- A function whose answers come from the record need not be there: `Remembered` stands
  for it, and looks it up if it is called after all.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import CodeType, FunctionType, MethodType
from typing import Protocol, cast

from muniment.errors import CannotTellError, RefusedError
from muniment.programs.called.around import shadowed_around
from muniment.programs.called.helpers import helpers_of
from muniment.programs.called.layers import code_in, stood_for
from muniment.programs.functions import CHANGED, Program, describe

__all__ = [
    "Finder",
    "Function",
    "Named",
    "Remembered",
    "StandIn",
    "describe_program",
    "is_same",
    "named",
    "naming",
    "path_of",
    "plain",
    "refer",
    "require_ready",
    "title_of",
    "whole",
    "with_helpers",
]

Function = Callable[..., object]

_NAMING = ("name", "import", "source")
_COMPARED = ("files", "others", "helpers", "code")


class Finder(Protocol):
    """Finds functions by their descriptions."""

    def recall(self, described: Mapping[str, object]) -> Function:
        """Return the function that a record *described*.

        Raises:
            CannotTellError: it cannot be found.

        """
        ...


class StandIn:
    """What stands for a function, and says how a record names it.

    Nothing else is believed about that: a function may have any attribute.
    """

    __slots__ = ()
    described: Mapping[str, object]

    @abstractmethod
    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call the function."""


@dataclass(frozen=True, slots=True)
class Named(StandIn):
    """A function and its description."""

    function: Function
    described: Mapping[str, object]
    """As `describe` returns it, or as a record has it."""
    settled: bool = field(default=False, compare=False)
    """Whether an earlier edition gave it this description, and it is the same."""
    code: tuple[tuple[FunctionType, CodeType], ...] = field(
        default=(), compare=False, repr=False
    )
    """The functions in it, and the instructions that each had when it was named."""

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call the function.

        Raises:
            RefusedError: it got other code since it was named.

        """
        self.require_same()
        return self.function(*args, **kwargs)

    def require_same(self) -> None:
        """Refuse a function that got other code since it was named.

        Raises:
            RefusedError: it did.

        """
        if all(function.__code__ is code for function, code in self.code):
            return
        raise RefusedError(
            f"{path_of(self.described)} has other code than when it was named",
            rule=CHANGED,
            place=str(self.described.get("file", path_of(self.described))),
            remedy="set no `__code__` of a function that a run calls",
        )


@dataclass(frozen=True, slots=True)
class Remembered(StandIn):
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
    own = cast("Function", stood_for(function))
    return Named(function, describe(own), code=code_in(own))


def with_helpers(function: Function) -> Function:
    """Return *function* with the files of what it names in its description, too.

    One that a record describes is as it is.
    """
    if not isinstance(function, Named) or "name" in function.described:
        return function
    known = function.described.get("files")
    own = cast("Mapping[str, object]", known if isinstance(known, Mapping) else {})
    found = {
        name: digest
        for name, digest in helpers_of(function.function).items()
        if name not in own
    }
    if not found:
        return function
    return replace(function, described={**function.described, "helpers": found})


def is_same(one: Function, other: Function) -> bool:
    """Tell whether two functions, or what stands for them, are one function."""
    first, second = (
        each.function if isinstance(each, Named) else each for each in (one, other)
    )
    methods = isinstance(first, MethodType) and isinstance(second, MethodType)
    return first is second or (methods and first == second)


def refer(function: Function) -> dict[str, object]:
    """Return how a record names *function*, without the place of its file."""
    if isinstance(function, StandIn):
        return naming(function.described)
    return naming(describe(cast("Function", stood_for(function))))


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
    for one in map(_with_around, cast("Callable[[], Iterable[Function]]", given)()):
        if not one.keys().isdisjoint((*_COMPARED, "around")) and one not in found:
            found.append(one)
    return {**described, "functions": found}


def require_ready(
    program: Program,
    params: Mapping[str, object],
    recorded: Iterable[Mapping[str, object]] = (),
) -> None:
    """Let *program* refuse, while nothing is written, if it lacks something.

    Its method ``before_resume`` may take the *params* with which the run began, and then
    the functions as *recorded* at its start.

    Raises:
        CannotTellError: something cannot be found.
        RefusedError: something is not what was recorded.

    """
    if (ready := getattr(program, "before_resume", None)) is not None:
        known = (params, [*recorded])
        ready(*known[: len(inspect.signature(ready).parameters)])


def _with_around(function: Function) -> Mapping[str, object]:
    """Return the description with files, and with the names of builtins that are none."""
    known = _with_files(function)
    if not isinstance(function, Named) or "name" in known:
        return known
    around = shadowed_around(function.function)
    return {**known, "around": around} if around else known


def _with_files(function: Function) -> Mapping[str, object]:
    """Return the description of *function*, with its file and their digests."""
    known: Mapping[str, object] = (
        function.described if isinstance(function, StandIn) else dict[str, object]()
    )
    if not known.keys().isdisjoint(("file", "name")):
        return known
    # An earlier record has neither: the function as found is what it described.
    with suppress(CannotTellError, RefusedError):
        return describe(plain(function))
    return {}


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
        RefusedError: it got other code since it was named.

    """
    if isinstance(function, Remembered):
        return plain(function.found())
    if isinstance(function, Named):
        function.require_same()
        return plain(function.function)
    return cast("Function", stood_for(function))
