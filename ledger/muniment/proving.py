"""Proofs from a stored tree: that an event is under a checkpoint, that a log only grew.

Rules:

- A proof is made against a signed checkpoint, never against a bare root; where the
  newest does not cover the event, a new one is signed if there is a key for it.
- A proof that is checked beside its ledger agrees with it: in the keys, and in the root
  at the size of its tree head. One of a longer ledger cannot be told.
"""

from __future__ import annotations

from collections.abc import Iterable

from muniment.checkpoint import (
    Checkpoint,
    Note,
    TlogProof,
    read_checkpoint,
    read_vouched,
)
from muniment.checkpoint import origin as origin_of
from muniment.errors import CannotTellError, UsageError, WrongError
from muniment.inclusion import Included, check_inclusion, with_event
from muniment.keys import PublicKey
from muniment.merkle import consistency_proof, inclusion_proof, subtree_root
from muniment.reading import event_at, head_of
from muniment.store import Store
from muniment.tree import node_reader

__all__ = ["check_proof", "consistency", "newest_checkpoint", "prove"]


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


def check_proof(
    store: Store, data: bytes, publics: Iterable[PublicKey] = (), place: str = "proof"
) -> Included:
    """Check the proof *data* beside the ledger that it is of.

    Args:
        store: the ledger, taken as it is: ``verify`` is what checks it in itself.
        data: a ``.tlog-proof`` file; one without its event is given the ledger's.
        publics: the checkpoint keys to believe; without any, those of the ledger.
        place: the file's name, for messages.

    Raises:
        WrongError: the proof is not good, or the ledger contradicts it.
        CannotTellError: the ledger ends before the proof's tree head.

    """
    origin, keyring = origin_of(store.ledger_id), store.keyring()
    proof, size = TlogProof.parse(data), head_of(store.database).size
    claimed = Checkpoint.parse(Note.parse(proof.checkpoint_note).text)
    beyond = CannotTellError(
        f"the ledger at hand ends at {size}, the proof is of {claimed.size} events",
        rule="tlog-proof/beyond-ledger",
        place=place,
        remedy="check it beside the whole ledger",
    )
    try:
        checkpoint = read_vouched(proof.checkpoint_note, origin, keyring)[0]
    except WrongError as error:
        if error.rule == "checkpoint/unsigned" and claimed.size > size:
            raise beyond from None  # a key that was enrolled later may have signed it
        raise
    if checkpoint.size > size:
        raise beyond
    if proof.extra is None and proof.index < size:
        event = event_at(store.database, proof.index)
        proof = with_event(proof, event.payload, event.signature, event.key)
    found = check_inclusion(
        proof.to_text().encode(), origin, publics, place, keyring=keyring
    )
    with store.database.reading() as driver:
        root = subtree_root(0, checkpoint.size, node_reader(driver.execute))
    if root != checkpoint.root:
        raise WrongError(
            f"the ledger at hand has another root of {checkpoint.size} events",
            rule="tlog-proof/root",
            seq=proof.index,
            place=place,
            remedy="`muniment compare` shows the fork; ask who made the proof",
        )
    return found


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
