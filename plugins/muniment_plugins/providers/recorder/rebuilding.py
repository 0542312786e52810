"""A recorded program, made again from the events of its run.

Rules: only how it was started is read. The command line has to be given again: a ledger
is data, and data is not executed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from muniment.programs import describe
from muniment.reading import events_of_run
from muniment.resuming import params_of
from muniment_plugins.providers.recorder.program import RecordedProgram

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["rebuild"]


def rebuild(ledger: Ledger, run: str) -> RecordedProgram | None:
    """Return the program of *run* without its command line; None for other runs."""
    started = next(events_of_run(ledger.store.database, run))
    known = started.raw.get("program")
    ours = describe(RecordedProgram())
    if not isinstance(known, dict) or known.get("import") != ours["import"]:
        return None
    command = cast("Sequence[str]", params_of(ledger, started).get("command", ()))
    return RecordedProgram(recorded=command)
