"""Proofs from a stored tree: that an event is under a checkpoint, that a log only grew.

Rules: a proof is made against a signed checkpoint, never against a bare root; where the
newest does not cover the event, a new one is signed if there is a key for it.
"""

from __future__ import annotations

from muniment.checkpoint import Checkpoint, TlogProof, read_checkpoint
from muniment.checkpoint import origin as origin_of
from muniment.errors import CannotTellError, UsageError
from muniment.merkle import consistency_proof, inclusion_proof
from muniment.reading import head_of
from muniment.store import Store
from muniment.tree import node_reader

__all__ = ["consistency", "newest_checkpoint", "prove"]


def prove(store: Store, seq: int) -> TlogProof:
    """Return the inclusion proof of event *seq* under the newest checkpoint.

    Raises:
        UsageError: there is no such event.
        CannotTellError: no checkpoint covers it and none can be signed here.

    """
    size = head_of(store.database).size
    if not 0 <= seq < size:
        raise UsageError(
            f"there is no event {seq}; the last is {size - 1}", rule="event/unknown"
        )
    covered, note = store.last_checkpoint()
    if seq >= covered:
        store.checkpoint()
        covered, note = store.last_checkpoint()
    if note is None or seq >= covered:
        raise CannotTellError(
            "no checkpoint covers the event, and there is no checkpoint key here",
            rule="proof/no-checkpoint",
            place=f"event {seq}",
            remedy="run `muniment checkpoint` where the key is",
        )
    with store.database.reading() as driver:
        hashes = inclusion_proof(seq, covered, node_reader(driver.execute))
    return TlogProof(seq, tuple(hashes), note)


def newest_checkpoint(store: Store) -> Checkpoint | None:
    """Return the newest checkpoint of the file, its signature checked."""
    size, note = store.last_checkpoint()
    if note is None:
        return None
    keys = store.keyring().checkpoint_keys_at(size)
    return read_checkpoint(note, origin_of(store.ledger_id), keys)


def consistency(store: Store, old: int, new: int) -> list[bytes]:
    """Return the proof that the first *old* of *new* events were never changed."""
    with store.database.reading() as driver:
        return consistency_proof(old, new, node_reader(driver.execute))
