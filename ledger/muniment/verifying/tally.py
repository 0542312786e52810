"""What a pass over the log compared, sort by sort.

    rows 42 of 42, signatures 42 of 42, tiles 0 of 0, checkpoints 3 of 3, marks 2 of 2, …

Rules:

- Signatures that a checkpoint vouches for, contents and the ends of runs may be left out
  by ``fast``; the checkpoint must itself have been compared.
- What is remembered beyond the end of the log is a question of completeness, and of no
  comparison here.
"""

from __future__ import annotations

from muniment.verifying.counts import Count
from muniment.verifying.events import EventPass
from muniment.verifying.memory import Memory

__all__ = ["tally"]


def tally(
    events: EventPass, memory: Memory, *, signatures: int, erased: int, fast: bool
) -> tuple[Count, ...]:
    """Return how much was compared, against what says how much there is.

    Args:
        events: the pass, at its end.
        memory: what was remembered of the ledger, settled.
        signatures: how many were checked.
        erased: how many contents are gone by an event.
        fast: whether signatures, contents and runs were left out on purpose.

    """
    tree, runs, blobs, marks = events.tree, events.runs, events.blobs, memory.marks
    known = events.keys.keyring is not None  # or no row's key was judged
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
        Count("contents", blobs.compared, blobs.total, unread, erased),
        Count("run ends", runs.compared, runs.ends, uncounted),
    )
