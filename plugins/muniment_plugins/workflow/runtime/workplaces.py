"""Where a run works: commands, checks of paths, and the roots of tools.

    workflow.started    {"folder": "/srv/desk", …}   absolute, links resolved
    context.selected    {"folder": "/srv/desk", …}   in turn.1 of a loop in a program

Rules:

- A run works where it began, whichever process goes on with it, and so do the runs that it
  calls and the one that it goes on as. What its record states is what holds.
- A resume is refused, with nothing written, if that folder is no folder any more. The folder
  of a loop that came to an end is not needed.
- A fork is another run, and works where it is begun. So does a run that was cut off before
  it stated anything: it has performed nothing there.
- A replay performs nothing in the folder, which need not be there. It judges paths by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast

from muniment.errors import ErasedError, RefusedError
from muniment.formats.statement import BlobRef, Event
from muniment_plugins.workflow.contracts.processes import Workplace

if TYPE_CHECKING:
    from muniment import RunFacts
    from muniment.hookspecs import OpenLedger
    from muniment.ledger import Ledger
    from muniment.runs.run import Handle

__all__ = [
    "STARTED",
    "require_there",
    "stated_folder",
    "unworkable",
    "workplace_of",
    "worksite",
]

STARTED = "workflow.started"
_SELECTED, _ENDED = "context.selected", "agent.ended"
_MEMBER = "folder"
_COMES_AGAIN = ("cancelled", "failed")
"""Why a loop ended that a resume may begin once more."""


def unworkable(
    run: RunFacts, events: Sequence[Event], ledger: OpenLedger
) -> RefusedError | None:
    """Return why *run*, which recorded *events*, cannot go on where it works, if so.

    Raises:
        ErasedError: where it works was erased.

    """
    known = False
    for one in _stating(events):
        folder = _told(one, ledger)
        if folder is not None and not Path(folder).is_dir():
            return _gone(folder, run.id)
        known = known or one.type == STARTED
    options = run.params.get("options")
    if known or not (events or run.origin) or not isinstance(options, Mapping):
        return None
    cwd = cast("Mapping[str, object]", options).get("cwd")
    if "graph" not in run.params or not isinstance(cwd, str) or Path(cwd).is_dir():
        return None
    return RefusedError(
        f"there is no folder {cwd} here, where the run would work",
        rule="workflow/folder",
        place=run.name,
        remedy="make it first, or begin where it is",
    )


def _stating(events: Sequence[Event]) -> Iterator[Event]:
    """Yield those of *events* that state where what did not end works."""
    ended = {
        one.scope
        for one in events
        if one.type == _ENDED and one.raw.get("reason") not in _COMES_AGAIN
    }
    for one in events:
        around = (one.scope or "").rpartition("/")[0]
        if one.type == STARTED or (one.type == _SELECTED and around not in ended):
            yield one


def _told(event: Event, ledger: OpenLedger | Ledger) -> str | None:
    told = event.data.get(_MEMBER)
    found = ledger.value(told) if isinstance(told, BlobRef) else None
    return found if isinstance(found, str) else None


def stated_folder(ledger: Ledger, run: str) -> str | None:
    """Return the folder that a *run* of a graph says it works in; None if it says nothing.

    Raises:
        ErasedError: it was erased.

    """
    begun = next(ledger.events(run=run, type=STARTED, limit=1), None)
    return None if begun is None else _told(begun, ledger)


def require_there(folder: str, run: str) -> None:
    """Refuse to go on with *run*, which works in *folder*, where that is not.

    Raises:
        RefusedError: there is no such folder.

    """
    if not Path(folder).is_dir():
        raise _gone(folder, run)


def _gone(folder: str, run: str) -> RefusedError:
    return RefusedError(
        f"the run works in {folder}, and there is no such folder here",
        rule="workflow/folder",
        place=f"run {run}",
        remedy=f"put it there again; or `muniment fork {run} --at SEQ`, which works where "
        "it is begun",
    )


def workplace_of(ledger: Ledger, run: str, cwd: str) -> Workplace:
    """Return where a workflow goes on as another run, once *run* has ended.

    Raises:
        RefusedError: there is no such folder.

    """
    known = stated_folder(ledger, run)
    if known is not None:
        require_there(known, run)
    return Workplace.at(cwd if known is None else known)


def worksite(begun: Handle, here: str) -> str:
    """Return where that works which stated *begun*: as its record has it, else *here*."""
    known = None
    with suppress(ErasedError):  # only a replay gets here without it, and opens nothing
        known = begun.known_content(_MEMBER)
    return known if isinstance(known, str) else here
