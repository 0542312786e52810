"""How much a pass over the log compared, item by item.

    rows 42 of 42, signatures 42 of 42, tiles 0 of 0, checkpoints 3 of 3, marks 2 of 2, …

Rules:

- ``fast`` may leave out contents, the ends of runs, and signatures that a checkpoint
  vouches for; the checkpoint itself must have been compared.
- Memory beyond the end of the log concerns completeness, and is not compared here.
"""

from __future__ import annotations

from muniment.verification.counts import Count
from muniment.verification.event_pass import EventPass
from muniment.verification.memory import Memory

__all__ = ["tally"]


def tally(
    events: EventPass, memory: Memory, *, signatures: int, erased: int, fast: bool
) -> tuple[Count, ...]:
    """Return how much was compared, and how much there is.

    Args:
        events: the pass, at its end.
        memory: the memory of the ledger, settled.
        signatures: how many were checked.
        erased: how many contents are gone because an event erased them.
        fast: whether signatures, contents and runs were left out on purpose.

    """
    tree, runs, blobs, marks = events.tree, events.runs, events.blobs, memory.marks
    known = events.keys.keyring is not None  # else no row's key was judged
    vouched = min(events.keys.covered, tree.last_checkpoint) if fast else 0
    left = min(vouched, max(events.events - signatures, 0))
    beyond = sum(mark.size > events.size for mark in marks)
    held = sum(mark.matched for mark in marks)
    rows = max(events.size, events.events)
    unread, uncounted = (blobs.total, runs.ends) if fast else (0, 0)
    return (
        Count("rows", events.sound if known else 0, rows),
        Count("signatures", signatures, events.events, left),
        Count("tiles", tree.tiles, tree.tiles_of(events.size)),
        Count("checkpoints", tree.sound, tree.checkpoints),
        Count("marks", held, len(marks), beyond),
        Count("blobs", blobs.compared, blobs.total, unread, erased),
        Count("run ends", runs.compared, runs.ends, uncounted),
        Count("places in series", events.series.compared, events.series.total),
        Count("decisions", events.decisions.compared, events.decisions.total),
        *events.across.counts,
    )
