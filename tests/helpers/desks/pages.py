"""The pages of the documentation, followed by a reader who has what they name.

    with Desk(Site(), situation) as desk:
        followed = follow(page, situation, desk)

Rules:

- The reader starts in an empty directory with a home where nothing is, and installed
  the package without extras. `pip install X` brings X, and nothing else does.
- A Python block whose first line is ``# NAME.py`` begins that file, the Python blocks
  after it go on in it. A file is run once it is written, unless the page runs it.
- A block of data whose info says ``file=NAME`` is saved as that file.
- Shell blocks are typed line by line, each in a process of its own. ``RUN`` is the newest
  run, and a fingerprint that of the root. ``on=NAME`` behind the language is where.
- An ``output`` block is what the block or the file before it prints; ``…`` is anything.
- Whatever is not run is listed in the situation, with the reason.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from base_install import Site
from machines import NOBODY, has_walls

__all__ = ["Block", "Desk", "Followed", "Situation", "blocks", "follow", "pattern"]

BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# (\w+\.py)\n")
DATA = re.compile(r"file=([\w.-]+)")
FINGERPRINT = re.compile(r"SHA256:[\w+/]{43}")
ASSIGNED = re.compile(r"(\w+)=\$\(.*\)")
EXPORT = re.compile(r"export (\w+)=(.*)")
HERE, UNNAMED = "here", "page.py"


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    language: str
    text: str
    place: str = HERE
    name: str | None = None
    """The file that it is, if it is data."""

    @property
    def first(self) -> str:
        """Its first line, by which it is listed."""
        return self.text.partition("\n")[0]


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of *page*."""
    return [
        Block(
            language,
            text,
            (re.findall(r"on=(\w+)", info) or [HERE])[0],
            next(iter(DATA.findall(info)), None),
        )
        for language, info, text in BLOCK.findall(page.read_text())
    ]


def pattern(text: str) -> str:
    """Return *text* as a pattern: ``…`` is anything, and so is a hash."""
    free = re.sub(r"\b[0-9a-f]{16,}\b", "…", text)
    return ".*?".join(re.escape(part) for part in free.split("…"))


@dataclass(frozen=True)
class Situation:
    """What a page takes for granted, and what of it cannot be done here."""

    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the reader has already, at each place."""
    before: tuple[str, ...] = ()
    """What was typed before, at the first place."""
    places: tuple[str, ...] = (HERE,)
    """Whose directories, side by side, and homes; nobody is told of a ledger but by the
    page."""
    hands: tuple[str, ...] = ()
    """The files that one place hands to the others."""
    exits: Mapping[str, tuple[int, ...]] = field(
        default_factory=dict[str, tuple[int, ...]]
    )
    """Beginnings of lines → the exit codes that the page lets expect, if not 0."""
    unrun: Mapping[str, str] = field(default_factory=dict[str, str])
    """First lines of the blocks that are not run → why."""


@dataclass
class Followed:
    """What was done: nothing else is in the page."""

    ran: list[Block] = field(default_factory=list[Block])
    compared: list[Block] = field(default_factory=list[Block])
    listed: list[Block] = field(default_factory=list[Block])


class Desk:
    """The directories and homes of a page's people, whom the system knows by no name."""

    def __init__(self, site: Site, situation: Situation, **also: str) -> None:
        self.site, self.situation, self.also = site, situation, also
        self.exports: dict[str, dict[str, str]] = {}
        self.who: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        if os.geteuid():
            self.who = {}  # somebody ordinary already

    def __enter__(self) -> Self:
        self._kept = tempfile.TemporaryDirectory()
        self.root = Path(self._kept.name)
        for place in self.situation.places:
            for name in (place, f"{place}-home"):
                (self.root / name).mkdir()
            for name, text in self.situation.files.items():
                (self.root / place / name).write_text(text)
        self._give_away()
        for line in self.situation.before:
            self.type(line, self.situation.places[0])
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._kept.cleanup()

    def _give_away(self) -> None:
        for one in (self.root, *self.root.rglob("*")) if self.who else ():
            os.chown(one, NOBODY, NOBODY, follow_symlinks=False)

    def write(self, name: str, text: str, place: str) -> None:
        """Save a file."""
        (self.root / place / name).write_text(text)
        self._give_away()

    def start(self, line: str, place: str) -> subprocess.CompletedProcess[str]:
        """Give *line* to a shell of *place*."""
        return subprocess.run(
            ["/bin/sh", "-c", line],
            cwd=self.root / place,
            env={
                "PATH": f"{self.site.bin}{os.pathsep}/usr/bin{os.pathsep}/bin",
                "HOME": str(self.root / f"{place}-home"),
                "COLUMNS": "100",
                **self.also,
                **self.exports.get(place, {}),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            **self.who,
        )

    def type(self, line: str, place: str) -> str:
        """Type *line*, and return what it prints; it ends as the page says."""
        if line.startswith("pip install "):
            self.site.install(*shlex.split(line)[2:])
            return ""
        if found := EXPORT.fullmatch(line):
            self.exports.setdefault(place, {})[found[1]] = found[2]
            return ""
        done = self.start(self._filled(line, place), place)
        codes = [
            code
            for begin, code in self.situation.exits.items()
            if line.startswith(begin)
        ]

        assert done.returncode in (codes[0] if codes else (0,)), (line, done)
        assert "Traceback" not in done.stdout + done.stderr, done.stderr
        self._hand(place)
        return done.stdout

    def _filled(self, line: str, place: str) -> str:
        if re.search(r"\bRUN\b", line):
            listed = json.loads(self.start("muniment runs --json", place).stdout)
            runs = [one["id"] for one in listed if not one.get("replay_of")]
            line = re.sub(r"\bRUN\b", max(runs), line)
        if FINGERPRINT.search(line):
            said = json.loads(self.start("muniment keys list --json", place).stdout)
            listed = said["keys"] if isinstance(said, dict) else said
            (root,) = [one["keyid"] for one in listed if one["name"] == "root"]
            line = FINGERPRINT.sub(root, line)
        if line.startswith("muniment replay") and " -- " not in line:
            line += "" if has_walls() else " --trust-program"  # as replay.md says
        return re.sub(r"\bSEQ\b", "1", line)

    def _hand(self, place: str) -> None:
        for name in self.situation.hands:
            file = self.root / place / name
            for other in self.situation.places if file.exists() else ():
                if other != place:
                    self._copy(file, self.root / other / name)
        self._give_away()

    def _copy(self, file: Path, to: Path) -> None:
        if file.is_dir():
            shutil.copytree(file, to, dirs_exist_ok=True)
        else:
            shutil.copyfile(file, to)


@dataclass
class _Reader:
    """Follows one page from its top to its end."""

    desk: Desk
    done: Followed = field(default_factory=Followed)
    file: str | None = None
    sources: list[str] = field(default_factory=list[str])
    shown: str = ""
    printed: str = ""
    since: int = 0

    def read(self, block: Block) -> None:
        if block.first in self.desk.situation.unrun:
            self.done.listed.append(block)
        elif block.language == "output":
            self.done.compared.append(block)
            self.shown += block.text
        elif block.language == "python":
            self._save(block)
        elif block.name is not None:
            self.desk.write(block.name, block.text, block.place)
            self.done.ran.append(block)
        elif block.language == "sh":
            self.settle(block.text)
            for line in typed(block):
                self.printed += self.desk.type(line, block.place)
            self.done.ran.append(block)
        else:
            raise AssertionError(f"neither run nor listed: {block}")

    def _save(self, block: Block) -> None:
        named = FILE.match(block.text)
        if named or self.file is None:
            self.settle()
            self.file, self.sources = named[1] if named else UNNAMED, []
        self.sources.append(block.text)
        self.desk.write(self.file, "\n\n".join(self.sources), block.place)
        self.done.ran.append(block)

    def settle(self, shell: str = "") -> None:
        """Run the file that was written, and compare what was shown so far."""
        file, self.file = self.file, None
        if file is not None and f"python {file}" not in shell:
            line = f"python -W error {file}"
            self.printed += self.desk.type(line, self.desk.situation.places[0])
        if self.shown or (file is not None and f"python {file}" not in shell):
            told = re.fullmatch(pattern(self.shown), self.printed, re.DOTALL)
            assert told, f"{file or shell}: shown {self.shown}\nprinted {self.printed}"
        self.shown = self.printed = ""


def typed(block: Block) -> list[str]:
    """Return the lines of a shell block, without comments.

    A variable that a line sets is set again in each line that uses it.
    """
    whole = block.text.replace("\\\n", "")
    lines = (line.partition("  #")[0].strip() for line in whole.splitlines())
    found: list[str] = []
    known: dict[str, str] = {}
    for line in lines:
        if set_here := ASSIGNED.fullmatch(line):
            known[set_here[1]] = line
        elif line and not line.startswith("#"):
            used = [one for name, one in known.items() if f"${name}" in line]
            found.append("; ".join([*used, line]))
    return found


def follow(page: Path, desk: Desk) -> Followed:
    """Do what *page* says, in its order."""
    reader = _Reader(desk)
    for block in blocks(page):
        reader.read(block)
    reader.settle()
    return reader.done
