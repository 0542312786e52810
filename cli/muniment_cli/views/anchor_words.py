"""How far a ledger is confirmed by memory, in the words of ``verify``.

Rules: it uses the verifier's memory and rules. Roots come from the ledger's own tree,
so this says how far the log was confirmed; ``verify`` finds out whether it still is the
same log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["anchored", "is_whole"]


def anchored(ledger: Ledger) -> str:
    """Return ``anchored to 47 of 47, by the writer's own user``, or why not."""
    from muniment.formats.checkpoint import Checkpoint, Note
    from muniment.verification.memory import recall
    from muniment.verification.report import Findings

    size, findings = ledger.head.size, Findings()
    memory = recall(ledger.home, ledger.id, None, None, findings)
    memory.settle(ledger.keys, ledger.id, size, findings)
    for mark in memory.marks:
        if mark.size > size:
            continue
        if mark.leaf is not None:
            mark.matched = ledger.event(mark.size - 1).hash == mark.leaf.hex()
            continue
        root = mark.root
        if mark.note is not None:
            root = Checkpoint.parse(Note.parse(mark.note).text).root
        mark.matched = root == ledger.root(mark.size)
    return memory.anchored(size)


def is_whole(text: str, size: int) -> bool:
    """Tell whether *text* of `anchored` says that all *size* events are confirmed."""
    return f"to {size} of {size}," in text
