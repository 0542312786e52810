"""What is said of a program that is not found, or is not the one that ran.

    give("01M…", {"file": "triage.py", "import": "triage:main"}, "resume")
        ledger.resume(run, program=…), or `muniment resume 01M… --program triage.py:main`

Rule: each message says how the program can be given to the very command that asks.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from muniment.encoding.canonical import JsonValue
from muniment.errors import CannotTellError, RefusedError

__all__ = ["CHANGED", "changed", "give", "lost", "undeclared"]

CHANGED = "program/changed"
"""The rule by which code that is not the recorded one is not imported."""
_CALLS = {
    "replay": "replay(ledger, run, program=…)",
    "resume": "ledger.resume(run, program=…)",
    "fork": "ledger.fork(run, at=…, program=…)",
}
"""How a program is given in Python to each command that finds one."""


def undeclared(name: str, run: str) -> CannotTellError:
    """Return the error for a program whose stable *name* nothing here declares."""
    return CannotTellError(
        f"no active plugin declares the stable name {name}",
        rule="replay/program",
        place=f"run {run}",
        remedy="install the plugin that it comes from; `muniment plugins` lists those "
        "that are here",
    )


def changed(
    run: str, said: Mapping[str, JsonValue], act: str, place: str
) -> RefusedError:
    """Return the refusal of a program that is another now, at *place*."""
    return RefusedError(
        "the program is not the one that ran: its file changed, or is another",
        rule=CHANGED,
        place=place,
        remedy=f"to run it as it is now, name it: {give(run, said, act)}",
    )


def lost(
    message: str, run: str, said: Mapping[str, JsonValue], act: str
) -> CannotTellError:
    """Return the error for a program that is not found."""
    stood = f"; it was in {said['file']}" if said.get("file") else ""
    return CannotTellError(
        message + stood,
        rule="replay/program",
        place=f"run {run}",
        remedy=f"give the program: {give(run, said, act)}",
    )


def give(
    run: str, said: Mapping[str, JsonValue], act: str, file: Path | None = None
) -> str:
    """Return how to name a program to *act*, in Python and on the command line."""
    known, name = file or said.get("file"), str(said.get("import")).partition(":")[2]
    target = f"{known}:{name}" if known and name.isidentifier() else "FILE:NAME"
    return (
        f"{_CALLS[act.partition(' ')[0]]}, or `muniment {act} {run} --program "
        f"{shlex.quote(target) if known else target}`"
    )
