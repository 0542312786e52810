"""Functions that documents name by import path, and those that a run recorded.

    finder.imported("agents:write", at)     found now, its source read once
    recorded.remembered({"import": "agents:write", "source": "sha256:…"})

Rules:

- ``module:function`` is imported from the folder of the document first, then from the
  working directory and what is installed. While it is imported, nothing may be run.
- A function of a record is looked up when it is called, and has to be the one that ran.
  Whoever replays hears of it if it is not, even if who called it takes that for a failure.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from muniment.documents.places import At, near
from muniment.encoding.canonical import JsonValue
from muniment.errors import CannotTellError, MunimentError, RefusedError
from muniment.programs.functions import CHANGED, find
from muniment.programs.import_guard import importing
from muniment.programs.read_modules import READ
from muniment.programs.references import (
    Function,
    Named,
    Remembered,
    named,
    path_of,
    whole,
)
from muniment.programs.stable_names import StableNames

__all__ = ["FoundFunction", "FunctionFinder", "RecordedFunctions"]

_SAID = 8
"""Of how many names all are said; of more, those that may have been meant."""

FoundFunction = Named | Remembered


@dataclass(frozen=True, slots=True)
class FunctionFinder:
    """Finds the functions that a document names."""

    folder: Path
    """That of the document."""
    found: dict[str, FoundFunction] = field(
        default_factory=dict[str, FoundFunction], compare=False, repr=False
    )
    """What was imported before, so that each source is read once."""

    def imported(self, name: str, at: At) -> FoundFunction:
        """Return the function that *name*, ``module:function``, is.

        Raises:
            UsageError: there is no such module, or no such function in it.
            CannotTellError: importing it fails.

        """
        if name in self.found:
            return self.found[name]
        module, _, path = name.partition(":")
        with importing(name):
            found: object = self._module(module, at)
        for part in path.split("."):
            if not hasattr(found, part):
                raise at.wrong(
                    f"there is no {part} in {module}",
                    "part",
                    near(part, _offers(found), most=_SAID),
                )
            found = getattr(found, part)
        if not callable(found):
            raise at.wrong(
                f"{name} is a {type(found).__name__}, and no function",
                "part",
                "name a function",
            )
        self.found[name] = named(found)
        return self.found[name]

    def _module(self, name: str, at: At) -> object:
        for folder in (str(Path.cwd()), str(self.folder.absolute())):
            if folder in sys.path:
                sys.path.remove(folder)
            sys.path.insert(0, folder)
        try:
            return importlib.import_module(name)
        except MunimentError:
            raise
        except ModuleNotFoundError as error:
            if error.name is not None and f"{name}.".startswith(f"{error.name}."):
                raise at.wrong(
                    f"there is no module {error.name}",
                    "part",
                    f"put it in {self.folder}, or install it",
                ) from None
            raise _broken(error, name, at) from error
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # also `sys.exit` of a module: it is no success
            raise _broken(error, name, at) from error


def _offers(place: object) -> list[str]:
    """Return the names of what a module, or a class, defines itself and can be called."""
    home = getattr(place, "__module__", getattr(place, "__name__", None))
    return [
        name
        for name, one in vars(place).items()
        if not name.startswith("_")
        and callable(one)
        and getattr(one, "__module__", home) == home
    ]


def _what(refusal: RefusedError) -> str:
    """Return what changed: the file of a function, or one that it imports."""
    return (
        "its file" if refusal.message.startswith("the program ") else "what it imports"
    )


def _broken(error: BaseException, name: str, at: At) -> CannotTellError:
    return CannotTellError(
        f"importing {name} fails: {type(error).__name__}: {error}",
        rule=f"{at.family}/import",
        place=f"{at.file}: {at.path}",
        remedy="--debug shows the traceback",
    )


@dataclass(frozen=True, slots=True)
class RecordedFunctions:
    """Finds the functions that a run recorded, once they are called."""

    files: tuple[Mapping[str, object], ...]
    """The functions as the start of the run describes them, with their files."""
    names: StableNames
    run: str
    family: str
    """The first half of the rules that can break, and what the document is called."""

    def remembered(self, described: Mapping[str, object]) -> Remembered:
        """Return the stand-in for a function that the run named."""
        return Remembered(whole(described, self.files), self)

    def recall(self, described: Mapping[str, object]) -> Function:
        """Return the function that the run *described*.

        Raises:
            CannotTellError: it cannot be imported.
            RefusedError: it is another one now.

        """
        known = {**whole(described, self.files), "functions": self.files}
        try:
            said = cast("dict[str, JsonValue]", known)
            return find(said, self.run, names=self.names, same=True)
        except RefusedError as refusal:
            if refusal.rule != CHANGED:
                raise
            found = RefusedError(
                f"{path_of(described)} is not the function that ran: {_what(refusal)} changed",
                rule=CHANGED,
                place=refusal.place,
                remedy="restore the file, or start a new run"
                if self.family == "workflow"
                else f"restore the file; or name the {self.family} as it is now, with "
                "--program",
            )
            raise READ.keep(found) from refusal
        except CannotTellError as error:
            raise CannotTellError(
                error.message,
                rule=f"{self.family}/function",
                place=error.place,
                remedy="give the function to whoever runs this; `--readable` lets a "
                "replay read its folder",
            ) from error
