"""Finding the program of a recorded run again.

Rules: a named program is taken; else plugins are asked, else it is found where
`muniment.programs.files` says, never beside the ledger. While it is imported, nothing
is run or written. A program that takes a command line (it has ``commanded``) gets the
one after ``--``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from muniment.programs.stable_names import name_of
from muniment_cli.replay.documents import family_of
from muniment_cli.replay.flow_files import named_flow
from muniment_cli.replay.graph_files import graph_in, graph_named, named_graph
from muniment_cli.replay.targets import Program, is_flow_file, load_source
from muniment_cli.terminal.output import complain

if TYPE_CHECKING:
    from muniment.errors import UsageError
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["folders_of", "recalled", "require_commanded"]


def recalled(
    ledger: Ledger,
    run: str,
    named: str | None,
    command: Sequence[str] = (),
    trust_source: bool = False,
    act: str = "replay",
) -> Program:
    """Return the program of *run*, or the one that was *named*.

    Args:
        ledger: the ledger that holds the run.
        run: the run's id.
        named: ``FILE`` or ``MODULE:NAME`` of another program.
        command: the command line of a recorded program.
        trust_source: whether recorded source may run in this process.
        act: the command that asks for it, for messages.

    Raises:
        CannotTellError: it cannot be imported; the message says what to give.
        RefusedError: it is not the recorded one, or its file runs something when it
            is imported.
        UsageError: a command line is given to a program that takes none.

    """
    from muniment.runs.resume import program_of

    if named is not None and is_flow_file(named):
        if family_of(named) == "graph":
            return named_graph(ledger, run, graph_named(named), act)
        return named_flow(ledger, run, named)
    if named is not None and not command:
        return _in_file(ledger, run, named, act)
    started = next(ledger.events(run=run))
    program = program_of(ledger, run, started, None, trust_source, act)
    commanded = getattr(program, "commanded", None)
    if commanded is not None and named is None:
        return cast("Program", commanded(command, _warn))
    if command:
        raise _takes_none(run)
    return program


def _in_file(ledger: Ledger, run: str, named: str, act: str) -> Program:
    """Return the program, or that of the graph, which *named* names in a Python file.

    Raises:
        CannotTellError: it cannot be imported.
        RefusedError: its file runs something when it is imported.
        UsageError: it is of another kind than *run*.

    """
    from muniment.programs.import_guard import importing

    with importing(named):
        target = load_source(named).target()
        graph = graph_in(target)
    if graph is not None:
        return named_graph(ledger, run, graph, act)
    _require_kind(ledger, run, target.program, named)
    return target.program


def _require_kind(ledger: Ledger, run: str, program: Program, named: str) -> None:
    """Refuse a program for a run of a document, which calls it with other params.

    Raises:
        UsageError: *run* walks a graph, or is of another kind of document.

    """
    from muniment.errors import UsageError

    described = next(ledger.events(run=run)).data.get("program")
    known = ledger.plugins.names.of(cast("dict[str, object]", described or {}))
    if known is None or known.name == name_of(program):
        return
    raise UsageError(
        f"the run is one of {known.name}, and {named} is none",
        rule="run/other-kind",
        place=f"run {run}",
        remedy="name the file of the graph, the flow or the experiment that it is of",
    )


def folders_of(named: str | None, started: Event) -> list[str]:
    """Return the folders of a run's program, which it may read.

    A program that nobody named may read nothing beside its package: if the working
    directory is in a package, files beside that package are somebody else's. The target
    of a link is readable itself, wherever it is, if it was named or equals the record.
    """
    from muniment.programs.files import led_to, root_of, stands_in

    here = Path.cwd()
    found = [here]
    place = (named or "").rpartition(":")[0] or named or ""
    described = started.raw.get("program")
    if place.endswith(".py"):
        found += [root_of(Path(place)), Path(place).resolve()]
    elif is_flow_file(place):
        found.append(Path(place).resolve().parent)
    elif isinstance(described, dict) and (file := stands_in(described, here)):
        found += led_to(described, here)
        root = root_of(file)
        if not root.is_relative_to(here):
            found.append(root / file.relative_to(root).parts[0])
    return [str(one) for one in found]


def require_commanded(ledger: Ledger, started: Event, run: str) -> None:
    """Refuse a command line for a run of another program, before anything is started.

    Raises:
        CannotTellError: the plugin that recorded it is not active.
        UsageError: `muniment record` did not start the run.

    """
    from muniment.programs.functions import undeclared
    from muniment_plugins.providers.recorder.program import RecordedProgram
    from muniment_plugins.providers.recorder.rebuild import is_recorded

    if not is_recorded(started):
        raise _takes_none(run)
    name = str(name_of(RecordedProgram))
    if ledger.plugins.names.of({"name": name}) is None:
        raise undeclared(name, run)


def _takes_none(run: str) -> UsageError:
    from muniment.errors import UsageError

    return UsageError(
        "the program takes no command line",
        rule="replay/no-command",
        place=f"run {run}",
        remedy="leave out everything after `--`",
    )


def _warn(message: str) -> None:
    complain("warning", message)
