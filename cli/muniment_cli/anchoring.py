"""How far what is remembered confirms a ledger, in the words that ``verify`` has for it.

Rules: the same memory is asked as by the verifier, and counts by the same rules. Roots
come from the ledger's own tree, so this says how far the log was confirmed, where
``verify`` finds out whether it still is what was confirmed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["anchored", "is_whole"]


def anchored(ledger: Ledger) -> str:
    """Return ``anchored to 47 of 47, by the writer's own user``, or why not."""
    from muniment.checkpoint import Checkpoint, Note
    from muniment.merkle import subtree_root
    from muniment.tree import node_reader
    from muniment.verifying.memory import recall
    from muniment.verifying.report import Findings

    size, findings = ledger.head.size, Findings()
    memory = recall(ledger.home, ledger.id, None, None, findings)
    memory.settle(ledger.store.keyring(), ledger.id, size, findings)
    with ledger.store.database.reading() as driver:
        node = node_reader(driver.execute)
        for mark in memory.marks:
            if mark.size > size:
                continue
            if mark.leaf is not None:
                mark.matched = ledger.event(mark.size - 1).hash == mark.leaf.hex()
                continue
            root = mark.root
            if mark.note is not None:
                root = Checkpoint.parse(Note.parse(mark.note).text).root
            mark.matched = root == subtree_root(0, mark.size, node)
    return memory.anchored(size)


def is_whole(text: str, size: int) -> bool:
    """Tell whether *text* of `anchored` says that all of *size* events are confirmed."""
    return f"to {size} of {size}," in text
