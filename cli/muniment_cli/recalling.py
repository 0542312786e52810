"""The program of a recorded run, found again.

Rules: one that is named is taken; else plugins are asked, else it is imported by its
recorded name, from the working directory, from the directory that the ledger belongs
to, or from where its file stands below them. A program that takes a command line (it has
``commanded``) is given the one behind ``--``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from muniment_cli.output import complain
from muniment_cli.targets import Program, load_source, search_here

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["recalled"]


def recalled(
    ledger: Ledger,
    run: str,
    named: str | None,
    command: Sequence[str] = (),
    trust_source: bool = False,
) -> Program:
    """Return the program of *run*, or the one that was *named*.

    Args:
        ledger: the ledger that holds the run.
        run: the run's id.
        named: ``FILE`` or ``MODULE:NAME`` of another program.
        command: the command line of a recorded program.
        trust_source: whether source that the run recorded may run in this process.

    Raises:
        CannotTellError: it cannot be imported; the message says what to give.
        UsageError: a command line is given to a program that takes none.

    """
    from muniment.errors import UsageError
    from muniment.reading import events_of_run
    from muniment.resuming import program_of

    if named is not None and not command:
        return load_source(named).target().program
    started = next(events_of_run(ledger.store.database, run))
    described = started.raw.get("program")
    file = described.get("file") if isinstance(described, dict) else None
    search_here(ledger.path.parent.parent, file)
    program = program_of(ledger, run, started, None, trust_source)
    commanded = getattr(program, "commanded", None)
    if commanded is not None and named is None:
        return cast("Program", commanded(command, _warn))
    if command:
        raise UsageError(
            "the program takes no command line",
            rule="replay/no-command",
            place=f"run {run}",
            remedy="leave out what stands behind `--`",
        )
    return program


def _warn(message: str) -> None:
    complain("warning", message)
