"""The last words of a command whose run was interrupted, and its exit code.

    run 01JD3Z8M6Q…: interrupted
    `muniment resume 01JD3Z8M6Q…` continues; completed effects are not repeated

Rules: the same words for Ctrl-C and for every signal that asks to end, in every command
that runs programs. The terminal may be gone by then: what cannot be said there changes
neither the record nor the exit code.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, cast

from muniment.formats.lifecycle import ENDS, INTERRUPTED
from muniment_cli.terminal.output import hint

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["begun_since", "code_of", "told_interrupted"]

_BY_CTRL_C = 130


def told_interrupted(ledger: Ledger, runs: list[str], url: str | None) -> bool:
    """Say which of *runs* were interrupted, and how to continue; tell whether any was."""
    from muniment.queries.run_summary import RunSummaries
    from muniment_cli.views.explaining.reasons import marked_words, run_marks
    from muniment_cli.views.explaining.ways_on import ways_on

    stopped = [
        run
        for run in runs
        if ledger.project(RunSummaries, run=run).status == ENDS[INTERRUPTED]
    ]
    with suppress(OSError):
        for run in stopped:
            marks = marked_words(run_marks(ledger, run))
            hint(f"run {run}: {ENDS[INTERRUPTED]}{marks}")
            hint(*ways_on(ledger, run, url))
    return bool(stopped)


def code_of(end: BaseException) -> int:
    """Return the exit code, as a shell says it, of a command that *end* interrupted."""
    return cast("int", getattr(end, "code", _BY_CTRL_C))


def begun_since(ledger: Ledger, before: int) -> list[str]:
    """Return the runs that started after the event *before* and that no run called."""
    return [one.id for one in ledger.runs(from_seq=before) if not one.parent]
