"""The program of a recorded run, found again.

Rules: one that is named is taken; else plugins are asked, else it is imported by its
recorded name, from the working directory, from the directory that the ledger belongs
to, or from where its file stands below them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment_cli.targets import Program, load_source, search_here

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["recalled"]


def recalled(ledger: Ledger, run: str, named: str | None) -> Program:
    """Return the program of *run*, or the one that was *named*.

    Raises:
        CannotTellError: it cannot be imported; the message says what to give.

    """
    from muniment.reading import events_of_run
    from muniment.resuming import program_of

    if named is not None:
        return load_source(named).target().program
    started = next(events_of_run(ledger.store.database, run))
    described = started.raw.get("program")
    file = described.get("file") if isinstance(described, dict) else None
    search_here(ledger.path.parent.parent, file)
    return program_of(ledger, run, started, None)
