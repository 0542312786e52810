"""Which tools a prompt speaks of, and the lines that are not looked at.

    Call `edit(path: "a")`, then the tool `run`.     edit with path, run

Rules:

- A tool is meant where a name stands in backticks before ``(``, or in backticks beside
  the word *tool*. Other words are prose, even if a tool has that name.
- ``muniment-tool-surface: ignore-line`` leaves a line out, ``ignore-next-line`` the next
  one, ``ignore-start`` and ``ignore-end`` what is between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["PromptReference", "prompt_references"]

_NAME = r"[A-Za-z_][A-Za-z0-9_.:/-]*"
_CALL = re.compile(rf"`({_NAME})\(([^`]*)`")
_NAMED = re.compile(rf"\btools? `({_NAME})`|`({_NAME})` tool\b", re.IGNORECASE)
_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*)\s*[:=]")
_MARK = re.compile(r"muniment-tool-surface:\s*ignore-(line|next-line|start|end)\b")


@dataclass(frozen=True, slots=True, order=True)
class PromptReference:
    """A tool that a prompt speaks of."""

    line: int
    """From 1."""
    tool: str
    arguments: tuple[str, ...] = ()
    """The names that a call gives, sorted."""


def prompt_references(prompt: str) -> tuple[PromptReference, ...]:
    """Return the tools that *prompt* speaks of, by line."""
    return tuple(
        sorted(
            {
                found
                for number, line in _looked_at(prompt)
                for found in _in_line(number, line)
            }
        )
    )


def _looked_at(prompt: str) -> Iterator[tuple[int, str]]:
    inside = skipped = False
    for number, line in enumerate(prompt.splitlines(), 1):
        found = _MARK.search(line)
        mark = found.group(1) if found else ""
        inside = mark == "start" or (inside and mark != "end")
        if not (inside or skipped or mark in ("line", "end")):
            yield number, line
        skipped = mark == "next-line"


def _in_line(number: int, line: str) -> Iterator[PromptReference]:
    for name, inner in _CALL.findall(line):
        keys = tuple(sorted({*_KEY.findall(inner)}))
        yield PromptReference(number, name, keys)
    for first, second in _NAMED.findall(line):
        yield PromptReference(number, first or second)
