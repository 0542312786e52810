"""What stands behind a run's id, so that a command can be pasted and works.

    again_of(ledger, run).suffix      " -- python agent.py", " --program jobs/triage.py:main"

Rules:

- A program that its record alone finds is not named again.
- What only a person knows (a command line that was erased, a file that is nowhere here)
  is no part of a command: it is said which words are to be typed, and where.
- A resume goes live and writes: it is offered to who can.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from muniment.errors import MunimentError
from muniment_cli.advice import quoted
from muniment_cli.output import count

if TYPE_CHECKING:
    from muniment.canonical import JsonValue
    from muniment.ledger import Ledger

__all__ = ["Again", "again_of", "hindrance"]


@dataclass(frozen=True, slots=True)
class Again:
    """How a run is named to ``replay`` and ``resume``."""

    suffix: str = ""
    """What stands behind its id."""
    typed: str = ""
    """What has to be typed there, where nothing here knows it."""


def again_of(ledger: Ledger, run: str) -> Again:
    """Return how *run* is named, its program with it where that is needed."""
    from muniment.reading import events_of_run
    from muniment_plugins.providers.recorder.rebuilding import rebuild

    try:
        recorded = rebuild(ledger, run)
    except MunimentError:
        return Again(" -- COMMAND", "the command line that was recorded; it is erased")
    if recorded is not None:
        return Again(f" -- {quoted(*recorded.recorded)}")
    described = next(events_of_run(ledger.store.database, run)).raw.get("program")
    return _naming(ledger, described) if isinstance(described, dict) else _unknown("")


def _naming(ledger: Ledger, described: dict[str, JsonValue]) -> Again:
    """Return the option that names a program which its record alone does not find."""
    from muniment.program_files import locate, stands_in

    path = str(described.get("import"))
    name = path.partition(":")[2]
    if path.startswith("muniment_plugins."):
        return Again()  # a plugin makes it again, from the run's events
    reachable = all(part.isidentifier() for part in name.split("."))  # not <locals>
    if reachable and any(one.matches(described) for one in locate(described)):
        return Again()
    here = stands_in(described, Path.cwd())
    beside = stands_in(described, ledger.path.parent.parent)
    file = described["file"] if here else beside
    if file is None or not name.isidentifier():
        return _unknown(str(described.get("file") or path))
    return Again(f" --program {quoted(f'{file}:{name}')}")


def _unknown(was: str) -> Again:
    stood = f"; it was {was}" if was else ""
    return Again(" --program FILE:NAME", f"file and name of its program{stood}")


def hindrance(ledger: Ledger, *, merely_found: bool) -> str:
    """Return why this user cannot append; nothing where they can."""
    kept = ledger.home.keys_directory(ledger.id) / "writer.pem"
    if not kept.exists() and not os.environ.get("MUNIMENT_KEY"):
        return "none: this user can only read"
    if merely_found and not ledger.home.pins(ledger.id):
        return "here, but the ledger was merely found, and no key of it is pinned"
    places = (ledger.path, ledger.path.parent)
    forbidden = [str(one) for one in places if not os.access(one, os.W_OK)]
    if forbidden:
        return f"here, but {' and '.join(forbidden)} cannot be written to"
    return _not_as_remembered(ledger)


def _not_as_remembered(ledger: Ledger) -> str:
    """Return how the ledger contradicts the trust home; nothing where it does not."""
    remembered, size = ledger.home.head(ledger.id), ledger.head.size
    if remembered is None or not remembered.size:
        return ""
    if remembered.size > size:
        missing = count(remembered.size - size, "event")
        return f"here, but this is an older copy, {missing} behind: see `verify`"
    if ledger.event(remembered.size - 1).hash != remembered.hash.hex():
        return "here, but the history is not the one that is remembered: see `verify`"
    return ""
