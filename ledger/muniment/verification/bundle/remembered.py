"""Compares what is known of a ledger with the tree heads of a bundle of it."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.formats.checkpoint import Checkpoint, Note
from muniment.verification.bundle.closing import TreeHead
from muniment.verification.bundle.record import BundledEvent, BundleRecord
from muniment.verification.memory import Memory, is_pinned
from muniment.verification.report import Findings

__all__ = ["compare_memory"]

_FORK = "ask who holds the other history, and compare the two"


def compare_memory(
    memory: Memory,
    record: BundleRecord,
    heads: Sequence[TreeHead],
    closing: BundledEvent | None,
    findings: Findings,
    *,
    given: bool,
) -> bool:
    """Compare the marks of *memory*; return whether the keys of the ledger are pinned.

    Args:
        memory: what the trust home and a given file know of the ledger.
        record: the events of the run, judged.
        heads: the tree heads of the bundle.
        closing: the closing event, if it could be judged.
        findings: get whatever contradicts.
        given: whether the user gave a file of notes, of which one has to be compared.

    """
    keyring = record.keyring
    if keyring is None:
        return False
    roots = {one.checkpoint.size: one.checkpoint.root for one in heads}
    leaves = {one.seq + 1: one.leaf for one in record.events if one is not None}
    if closing is not None:
        leaves[closing.seq + 1] = closing.leaf
    memory.marks = [
        one for one in memory.marks if one.size in (leaves if one.leaf else roots)
    ]
    memory.settle(keyring, record.ledger, max([*roots, 0]), findings)
    for mark in memory.marks:
        root = mark.root
        if mark.note is not None:
            root = Checkpoint.parse(Note.parse(mark.note).text).root
        mark.matched = (
            leaves[mark.size] == mark.leaf if mark.leaf else roots[mark.size] == root
        )
        if not mark.matched:
            place = f"event {mark.size - 1}, {mark.source}"
            what = "another history of this ledger is remembered"
            findings.add("forked", "head/forked", what, place=place, remedy=_FORK)
    if given and not memory.demanded and heads:
        sizes = " or ".join(str(one) for one in sorted(roots))
        what = f"no given note is of {sizes} events, as the tree heads here are"
        findings.add(
            "unreadable",
            "anchor/uncompared",
            what,
            place="anchor",
            remedy="ask its sender for the bundle as `muniment bundle` wrote it",
        )
    return is_pinned(memory, keyring, findings, older=True)
