"""The files of an example, beside a ledger, and what to type next.

Rules:

- Nothing is written over. A file that has the example's content already is left; any
  other one of the same name refuses all of it, before anything is made.
- Each command that is said works as it is printed, from the directory of the files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from muniment.errors import RefusedError, UsageError
from muniment.places import LEDGER_VARIABLE, discover
from muniment_cli.terminal.advice import quoted
from muniment_cli.terminal.output import Cell, say

if TYPE_CHECKING:
    from muniment_plugins.governance.examples import Example

__all__ = ["Sample"]


@dataclass(frozen=True, slots=True)
class Sample:
    """An example, and where it goes."""

    example: Example
    folder: Path
    ledger: Path
    there: frozenset[str]
    """The files that are there already, as the example has them."""

    @classmethod
    def called(cls, name: str, directory: Path | None, ledger: Path) -> Sample:
        """Return the example called *name*, for *directory*, or for where we are.

        *ledger* is the file of the ledger beside it.

        Raises:
            UsageError: no example is called so.
            RefusedError: another file is where one of its files goes.

        """
        from muniment_plugins.governance.examples import example_called

        example = example_called(name)
        is_file = directory is not None and directory.suffix.lower() == ".db"
        named = directory.parent if directory is not None and is_file else directory
        folder = named or Path()
        there: set[str] = set()
        for file, content in example.files():
            if _lies(folder / file, content):
                there.add(file)
        return cls(example, folder, ledger, frozenset(there))

    def write(self) -> None:
        """Write the files that are not there.

        Raises:
            UsageError: one cannot be written.

        """
        from muniment.files.folder import write_new

        try:
            self.folder.mkdir(exist_ok=True)
            for name, content in self.example.files():
                if name not in self.there:
                    write_new(self.folder / name, [content])
        except OSError as error:
            raise UsageError(
                f"the example cannot be written ({error.strerror})",
                rule="example/written",
                place=str(self.folder),
                remedy="name a directory that can be written, and is not in use",
            ) from None

    def rows(self) -> list[tuple[str, Cell]]:
        """Return what was written, and what was there, for people."""
        names = [name for name, _ in self.example.files()]
        wrote = [str(self.folder / name) for name in names if name not in self.there]
        kept = [str(self.folder / name) for name in names if name in self.there]
        rows: list[tuple[str, Cell]] = [
            ("example", f"{self.example.name}: {self.example.about}")
        ]
        rows += [("wrote", ", ".join(wrote))] if wrote else []
        return [*rows, *([("is there", ", ".join(kept))] if kept else [])]

    def say_commands(self) -> None:
        """Say what to type next."""
        say()
        say("Type next:")
        for one in self._commands():
            say(f"  {one}", "bold")

    def to_json(self) -> Mapping[str, object]:
        """Return it as plain JSON."""
        return {
            "example": self.example.name,
            "files": [self.folder / name for name, _ in self.example.files()],
            "next": self._commands(),
        }

    def _commands(self) -> list[str]:
        first: list[str] = []
        found = discover(self.folder)
        if found is None or found.resolve() != self.ledger.resolve():
            first.append(
                f"export {LEDGER_VARIABLE}={quoted(str(self.ledger.resolve()))}"
            )
        if self.folder.resolve() != Path.cwd():
            first.append(f"cd {quoted(str(self.folder))}")
        needs = [
            f"pip install 'muniment[{extra}]'"
            for module, extra in self.example.needs.items()
            if find_spec(module) is None
        ]
        return [*first, *needs, *map(_as_here, self.example.commands)]


def _as_here(command: str) -> str:
    """Return *command* as it works on this machine.

    A replay of what only the ledger names needs all isolation layers, or a word for it.
    """
    from muniment_plugins.capsule.machine import machine

    if not command.startswith("muniment replay") or machine().level == "os-strong":
        return command
    return f"{command} --trust-program"


def _lies(place: Path, content: bytes) -> bool:
    """Tell whether *content* is at *place* already.

    Raises:
        RefusedError: something else is.

    """
    try:
        if place.is_file() and place.read_bytes() == content:
            return True
    except OSError:
        pass  # whatever it is, it is not written over
    if place.exists() or place.is_symlink():
        raise RefusedError(
            "the example has a file of this name, and would write over this one",
            rule="example/exists",
            place=str(place),
            remedy="name another directory: `muniment init --example NAME DIRECTORY`",
        )
    return False
