"""The table of commands: their modules, and one line about each.

Rules: ``muniment --help`` is printed from this table alone; a section is a folder of
`muniment_cli.commands`. Commands of plugins are entry points of the group
``muniment.commands``; their names are read, not their code.
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
    origin: str = ""
    """The distribution of a plugin's command; empty for muniment's own."""


def _section(title: str, **commands: str) -> tuple[str, tuple[Entry, ...]]:
    room = f"muniment_cli.commands.{title.lower()}"
    return title, tuple(
        Entry(name, f"{room}.{name}:command", text) for name, text in commands.items()
    )


SECTIONS: tuple[tuple[str, tuple[Entry, ...]], ...] = (
    _section(
        "Begin",
        demo="Take the tour: record, verify, replay, tamper, be caught.",
        init="Make a ledger, its keys, and what to pin.",
        status="Ledger, key, head, anchors, unfinished runs, isolation.",
    ),
    _section(
        "Run",
        plan="Say what a flow or a graph would do, without doing it.",
        run="Run a flow, a graph, an experiment or a program, and record it.",
        record="Run any program, and record its calls to models.",
        resume="Continue a run that was cut off, or paused.",
        fork="Begin a new run that another one answers up to an event.",
        inbox="List what runs ask people; add answers from elsewhere.",
        approve="Approve what a run asks, signed.",
        deny="Deny what a run asks, signed.",
        amend="Ask the approvers of a run's policy for other budgets.",
        workflow="Validate graphs, look at them, and write to their runs.",
        cancel="Give a run up; whoever runs it may not write any more.",
        replay="Derive a run's results again, from its events alone.",
    ),
    _section(
        "Look",
        runs="List, show, compare and explain runs.",
        inspect="Show a run with its determinism, and the cause of each event.",
        observe="Judge a recorded run by a policy that did not govern it.",
        sessions="List conversations, and show them as they are and were.",
        claims="List claims: how often each was tried, and its verdicts.",
        events="List, show and follow events.",
        query="Run read-only SQL over documented views.",
    ),
    _section(
        "Prove",
        verify="Check a ledger, a proof or a bundle from first principles.",
        prove="Prove that an event is in the signed tree.",
        bundle="Write the evidence of a run, for people without the ledger.",
        report="Write a page about a run, for people to read.",
        export="Write a run for other tools: tables, traces, provenance.",
        attest="Sign what a run proves, in the predicates of in-toto and SLSA.",
        checkpoint="Sign the tree head, and anchor it.",
        compare="Show that two ledgers agree, or prove a fork.",
        eval="Hold runs against fixtures, rubrics, and other runs.",
    ),
    _section(
        "Keep",
        keys="List, request, enrol, rotate, revoke, trust, export keys.",
        erase="Erase blobs; the chain still verifies.",
        backup="Copy the ledger consistently, while writers run.",
        rebuild="Fold all projections again, from event 0.",
        forget="Drop a location from the trust home.",
        policy="Check a policy, or sign it.",
        plugins="List plugins, their hooks, and what may load.",
        doctor="Examine this machine and ledger, with remedies.",
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
            origin = point.value if point.dist is None else point.dist.name
            yield Entry(point.name, point.value, f"(from {origin})", origin)


def _any_offered() -> bool:
    """Look for the group's name in the installed packages.

    importlib.metadata takes as long to import as click itself, and pathlib half as
    long, for a help text that mostly has no plugin to list.
    """
    wanted = f"[{PLUGIN_GROUP}]".encode()
    for folder in sys.path:
        try:
            found = [*os.scandir(folder or ".")]
        except NotADirectoryError:
            return True  # a zip: let importlib.metadata look into it
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
