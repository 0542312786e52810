"""Commands inside sentences that work when they are pasted.

    advised("see `muniment verify`", "my.db")     see `muniment --ledger my.db verify`

Rules: an advised command names the ledger that the advising command was given; words
that cannot be printed are quoted so that a command is one line.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

__all__ = ["advised", "ledger_named", "naming_ledger", "quoted"]

_WORK_ON_A_LEDGER = (
    *("status", "run", "record", "resume", "replay", "runs", "events", "query"),
    *("verify", "prove", "checkpoint", "keys", "erase", "backup", "rebuild", "doctor"),
)
_COMMAND = re.compile(
    rf"`muniment (?=(?:{'|'.join(_WORK_ON_A_LEDGER)})[ `])(?![^`]*--(?:help|ledger))"
)


def advised(text: str, url: str | None) -> str:
    """Return *text* with the ledger *url* in each command that works on one."""
    if url is None:
        return text
    return _COMMAND.sub(lambda _: f"`muniment --ledger {quoted(url)} ", text)


def ledger_named(words: Sequence[str]) -> str | None:
    """Return the ledger that the *words* of a command line name."""
    found = None
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == "--ledger" and following:
            found = following
        elif word.startswith("--ledger="):
            found = word.partition("=")[2]
    return found


def quoted(*words: str) -> str:
    """Return *words* quoted for a shell, on one line whatever they contain."""
    return " ".join(
        shlex.quote(word) if word.isprintable() else _escaped(word) for word in words
    )


def _escaped(word: str) -> str:
    """Return *word* with the escapes of bash, zsh and POSIX.1-2024."""
    known = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", "'": "\\'"}
    parts = [
        known.get(char) or (char if char.isprintable() else _octets(char))
        for char in word
    ]
    return f"$'{''.join(parts)}'"


def _octets(char: str) -> str:
    data = char.encode("utf-8", "surrogateescape")
    return "".join(f"\\{octet:03o}" for octet in data)


def naming_ledger(command: str, url: str | None) -> str:
    """Return *command* with the ledger *url* that the printing command was given."""
    given = "" if url is None else f" --ledger {quoted(url)}"
    return f"muniment{given}{command.removeprefix('muniment')}"
