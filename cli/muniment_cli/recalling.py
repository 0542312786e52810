"""The program of a recorded run, found again.

Rules: one that is named is taken; else plugins are asked, else it is found where
`muniment.program_files` says, never beside the ledger. While it is imported, nothing is
run or written. A program that takes a command line (it has ``commanded``) is given the
one after ``--``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from muniment_cli.output import complain
from muniment_cli.targets import Program, load_source

if TYPE_CHECKING:
    from muniment.errors import UsageError
    from muniment.events import Event
    from muniment.ledger import Ledger

__all__ = ["folders_of", "recalled", "require_commanded"]


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
        RefusedError: it is not the one that was recorded, or its file runs something
            by itself.
        UsageError: a command line is given to a program that takes none.

    """
    from muniment.imports import importing
    from muniment.reading import events_of_run
    from muniment.resuming import program_of

    if named is not None and not command:
        with importing(named):
            return load_source(named).target().program
    started = next(events_of_run(ledger.store.database, run))
    program = program_of(ledger, run, started, None, trust_source)
    commanded = getattr(program, "commanded", None)
    if commanded is not None and named is None:
        return cast("Program", commanded(command, _warn))
    if command:
        raise _takes_none(run)
    return program


def folders_of(named: str | None, started: Event) -> list[str]:
    """Return the folders that the program of a run stands in, which it may read.

    What nobody named opens nothing beside its package: where the working directory is
    in a package, what lies beside that package is somebody else's. A file that is a link
    is given by itself, wherever it leads, if it was named or is what was recorded.
    """
    from muniment.program_files import led_to, root_of, stands_in

    here = Path.cwd()
    found = [here]
    place = (named or "").rpartition(":")[0] or named or ""
    described = started.raw.get("program")
    if place.endswith(".py"):
        found += [root_of(Path(place)), Path(place).resolve()]
    elif isinstance(described, dict) and (file := stands_in(described, here)):
        found += led_to(described, here)
        root = root_of(file)
        if not root.is_relative_to(here):
            found.append(root / file.relative_to(root).parts[0])
    return [str(one) for one in found]


def require_commanded(started: Event, run: str) -> None:
    """Refuse a command line for a run of another program, before anything is started.

    Raises:
        UsageError: the run is not one that `muniment record` began.

    """
    from muniment.programs import describe
    from muniment_plugins.providers.recorder.program import RecordedProgram

    known, ours = started.raw.get("program"), describe(RecordedProgram())
    if not isinstance(known, dict) or known.get("import") != ours["import"]:
        raise _takes_none(run)


def _takes_none(run: str) -> UsageError:
    from muniment.errors import UsageError

    return UsageError(
        "the program takes no command line",
        rule="replay/no-command",
        place=f"run {run}",
        remedy="leave out what stands behind `--`",
    )


def _warn(message: str) -> None:
    complain("warning", message)
