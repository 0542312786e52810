"""Why a run is not resumed yet: somebody owns it, or people have not answered it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from muniment.encoding.canonical import JsonValue
from muniment.errors import RunFenced, RunPaused
from muniment.formats.lifecycle import BEGINNINGS, LIFE, PAUSED
from muniment.recorded.run import Recorded
from muniment.runs.owner import is_alive, owner

if TYPE_CHECKING:
    from muniment.ledger_reads import LedgerReads

__all__ = ["owned", "refuse_alive", "refuse_waiting"]


def refuse_alive(
    ledger: LedgerReads, record: Recorded, run: str, take_over: bool
) -> None:
    """Refuse to take *run* over from an owner that may be alive."""
    last = [event for event in record.events if event.type in LIFE][-1]
    if last.type not in BEGINNINGS or take_over:
        return
    described = cast("dict[str, JsonValue]", last.raw.get("owner", {}))
    alive = is_alive(described)
    if alive is False:
        return
    if described.get("pid") == owner()["pid"] and run in ledger.port.left:
        return
    where = f"process {described.get('pid')} on {described.get('host')}"
    doubt = "is alive" if alive else "cannot be looked at from here"
    raise owned(run, f"the run is owned by {where}, which {doubt}")


def refuse_waiting(ledger: LedgerReads, record: Recorded, run: str) -> None:
    """Stop before anything is written, if people have not answered what the run asks."""
    last = [event for event in record.events if event.type in LIFE][-1]
    awaited = last.raw.get("waits_for") if last.type == PAUSED else None
    asks = cast("list[str]", awaited or [])
    if asks and ledger.port.inbox.waits(run, asks):
        raise RunPaused(str(last.raw.get("reason", "")), asks)


def owned(run: str, by: str) -> RunFenced:
    """Return the refusal of a *run* that somebody else owns."""
    return RunFenced(
        by,
        rule="run/owned",
        place=f"run {run}",
        remedy="let it finish, or resume with --take-over",
    )
