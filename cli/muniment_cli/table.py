"""Which commands there are, in which module, in one line each.

Rules: ``muniment --help`` is printed from this table alone. Commands of plugins are
entry points of the group ``muniment.commands``; their names are read, not their code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from io import FileIO
from typing import NamedTuple

__all__ = ["PLUGIN_GROUP", "SECTIONS", "Entry", "entries", "plugin_entries"]

PLUGIN_GROUP = "muniment.commands"


class Entry(NamedTuple):
    """A command that is not loaded yet."""

    name: str
    target: str
    """``module:attribute``."""
    help: str


def _own(name: str, text: str) -> Entry:
    return Entry(name, f"muniment_cli.commands.{name}:command", text)


SECTIONS: tuple[tuple[str, tuple[Entry, ...]], ...] = (
    (
        "Begin",
        (
            _own("demo", "Take the tour: record, verify, replay, tamper, be caught."),
            _own("init", "Make a ledger, its keys, and what to pin."),
            _own("status", "Ledger, key, head, anchors, open runs, isolation."),
        ),
    ),
    (
        "Run",
        (
            _own("run", "Run an experiment or a program, and record it."),
            _own("record", "Run any program, and record its calls to models."),
            _own("resume", "Go on with a run that was cut off."),
            _own("replay", "Derive a run's results again, from its events alone."),
        ),
    ),
    (
        "Look",
        (
            _own("runs", "List, show, compare and explain runs."),
            _own("events", "List, show and follow events."),
            _own("query", "Ask read-only SQL over documented views."),
        ),
    ),
    (
        "Prove",
        (
            _own("verify", "Check a ledger or a proof from first principles."),
            _own("prove", "Prove that an event is in the signed tree."),
            _own("checkpoint", "Sign the tree head, and anchor it."),
            _own("compare", "Show that two ledgers agree, or prove a fork."),
        ),
    ),
    (
        "Keep",
        (
            _own("keys", "List, request, enrol, rotate, revoke, trust, export keys."),
            _own("erase", "Erase contents; the chain goes on verifying."),
            _own("backup", "Copy the ledger consistently, while writers run."),
            _own("rebuild", "Fold all projections again, from event 0."),
            _own("forget", "Drop a location from the trust home."),
            _own("plugins", "List plugins, their hooks, what they may."),
            _own("doctor", "Examine this machine and ledger, with remedies."),
        ),
    ),
)


def entries() -> dict[str, Entry]:
    """Return muniment's own commands by name."""
    return {entry.name: entry for _, section in SECTIONS for entry in section}


def plugin_entries() -> Iterator[Entry]:
    """Yield the commands that installed plugins offer, by name; none is imported."""
    if not _any_offered():
        return
    from importlib.metadata import entry_points

    own = entries()
    for point in sorted(entry_points(group=PLUGIN_GROUP), key=lambda one: one.name):
        if point.name not in own:
            origin = "a plugin" if point.dist is None else point.dist.name
            yield Entry(point.name, point.value, f"(from {origin})")


def _any_offered() -> bool:
    """Look for the group's name in what is installed.

    importlib.metadata costs as much to import as click itself, and pathlib half of it,
    for a help that mostly has no plugin to list.
    """
    wanted = f"[{PLUGIN_GROUP}]".encode()
    for folder in sys.path:
        try:
            found = [*os.scandir(folder or ".")]
        except NotADirectoryError:
            return True  # a zip: let the real reader look into it
        except OSError:
            continue
        for entry in found:
            if entry.name.endswith("-info") and wanted in _entry_points(entry.path):
                return True
    return False


def _entry_points(folder: str) -> bytes:
    try:
        with FileIO(f"{folder}/entry_points.txt") as file:
            return file.readall()
    except OSError:
        return b""
