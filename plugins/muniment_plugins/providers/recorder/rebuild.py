"""A recorded program, made again from the events of its run.

Rules: only its start is read. The command line has to be given again: a ledger is data,
and data is not executed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from muniment.programs.stable_names import StableNames, name_of
from muniment.runs.resume import params_of
from muniment_plugins.providers.declared_names import NAMES
from muniment_plugins.providers.recorder.program import RecordedProgram

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["is_recorded", "rebuild"]


def is_recorded(started: Event) -> bool:
    """Tell whether *started* is of a recorded program, also if this plugin is blocked."""
    program = started.raw.get("program")
    known = StableNames(NAMES).of(program) if isinstance(program, dict) else None
    return known is not None and known.name == name_of(RecordedProgram)


def rebuild(ledger: Ledger, run: str) -> RecordedProgram | None:
    """Return the program of *run* without its command line; None for other runs."""
    started = next(ledger.events(run=run))
    if not is_recorded(started):
        return None
    command = cast("Sequence[str]", params_of(ledger, started).get("command", ()))
    return RecordedProgram(recorded=command)
