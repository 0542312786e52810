"""Proofs from a stored tree: an event is under a checkpoint, or a log only grew.

Rules:

- A proof is made against a signed checkpoint, never against a bare root; if the newest
  does not cover the event, a new one is signed if there is a key for it.
- A proof that is checked beside its ledger must agree with it: in the keys, and in the
  root at the size of its tree head. For one of a longer ledger, the verdict is *cannot
  tell*.
- A receipt is a signature more of a root that is signed already: it is made only of a
  proof that was checked, by a key that could have signed that checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from muniment.errors import CannotTellError, KeyRefused, UsageError, WrongError
from muniment.formats.checkpoint import (
    Checkpoint,
    Note,
    TlogProof,
    read_checkpoint,
    read_vouched,
)
from muniment.formats.checkpoint import origin as origin_of
from muniment.formats.cose_receipt import sign_receipt
from muniment.formats.dsse import Envelope, sign_payload
from muniment.formats.merkle import consistency_proof, inclusion_proof, subtree_root
from muniment.formats.tlog_proof import Included, check_inclusion, with_event
from muniment.keys.ed25519 import PublicKey
from muniment.storage.append import Store
from muniment.storage.lookup import event_at, head_of
from muniment.storage.tail import node_reader, note_of

__all__ = [
    "check_proof",
    "consistency",
    "cose_receipt",
    "first_checkpoint_over",
    "newest_checkpoint",
    "prove",
    "prove_each",
    "root_of",
    "sign_statement",
]

_PAGE = 500
_KEPT = 20_000
"""How many nodes of the tree are kept for the next proofs."""
_FIRST_OVER = "SELECT size, note FROM checkpoint WHERE size > ? ORDER BY size LIMIT 1"


def prove(store: Store, seq: int, note: bytes | None = None) -> TlogProof:
    """Return the inclusion proof of event *seq* under *note*, or the newest checkpoint.

    Raises:
        UsageError: there is no such event, or *note* does not cover it.
        CannotTellError: no checkpoint covers it, and none can be signed here.

    """
    _require_event(store, seq)
    if note is None:
        covered, note = store.last_checkpoint()
        if seq >= covered:
            store.checkpoint()
            covered, note = store.last_checkpoint()
    else:
        covered = Checkpoint.parse(Note.parse(note).text).size
        if seq >= covered:
            raise UsageError(
                f"the checkpoint is of {covered} events, and does not cover event {seq}",
                rule="proof/beyond",
            )
    if note is None or seq >= covered:
        raise _uncovered(seq)
    with store.database.reading() as driver:
        hashes = inclusion_proof(seq, covered, node_reader(driver.execute))
    return TlogProof(seq, tuple(hashes), note)


def prove_each(store: Store, seqs: Iterable[int], note: bytes) -> Iterator[TlogProof]:
    """Yield the inclusion proof of each of the events *seqs* under *note*.

    What neighbours have in common is read once. No transaction is open meanwhile.

    Raises:
        UsageError: *note* does not cover one of them.

    """
    size = Checkpoint.parse(Note.parse(note).text).size
    known: dict[tuple[int, int], bytes] = {}
    left = iter(seqs)
    while page := list(islice(left, _PAGE)):
        if len(known) > _KEPT:
            known.clear()
        with store.database.reading() as driver:
            read = node_reader(driver.execute)

            def node(
                level: int, index: int, read: Callable[[int, int], bytes] = read
            ) -> bytes:
                place = (level, index)
                if place not in known:
                    known[place] = read(level, index)
                return known[place]

            proofs = [tuple(inclusion_proof(seq, size, node)) for seq in page]
        for seq, hashes in zip(page, proofs, strict=True):
            yield TlogProof(seq, hashes, note)


def first_checkpoint_over(store: Store, seq: int) -> bytes:
    """Return the first checkpoint that covers event *seq*; one is signed if need be.

    It stays the same however much the log grows.

    Raises:
        UsageError: there is no such event.
        CannotTellError: no checkpoint covers it, and none can be signed here.

    """
    _require_event(store, seq)
    note = _first_over(store, seq)
    if note is None:
        store.checkpoint()
        note = _first_over(store, seq)
    if note is None:
        raise _uncovered(seq)
    return note


def _first_over(store: Store, seq: int) -> bytes | None:
    with store.database.reading() as driver:
        row = driver.execute(_FIRST_OVER, (seq,)).fetchone()
    return None if row is None else note_of(row[0], row[1])


def _require_event(store: Store, seq: int) -> None:
    size = head_of(store.database).size
    if not 0 <= seq < size:
        raise UsageError(
            f"there is no event {seq}; the last is {size - 1}", rule="event/unknown"
        )


def _uncovered(seq: int) -> CannotTellError:
    return CannotTellError(
        "no checkpoint covers the event, and there is no checkpoint key here",
        rule="proof/no-checkpoint",
        place=f"event {seq}",
        remedy="run `muniment checkpoint` where the key is",
    )


def check_proof(
    store: Store, data: bytes, publics: Iterable[PublicKey] = (), place: str = "proof"
) -> Included:
    """Check the proof *data* beside its ledger.

    Args:
        store: the ledger, taken as it is: ``verify`` checks the ledger itself.
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
    if root_of(store, checkpoint.size) != checkpoint.root:
        raise WrongError(
            f"the ledger at hand has another root of {checkpoint.size} events",
            rule="tlog-proof/root",
            seq=proof.index,
            place=place,
            remedy="`muniment compare` shows the fork; ask who made the proof",
        )
    return found


def cose_receipt(store: Store, seq: int, note: bytes | None = None) -> bytes:
    """Return the COSE receipt of event *seq* under *note*, or the newest checkpoint.

    Raises:
        UsageError: there is no such event, or *note* does not cover it.
        KeyRefused: no key here is a checkpoint key of the ledger at that size.
        CannotTellError: no checkpoint covers it, or it is the only event.
        WrongError: the ledger's own record of it does not verify, or no checkpoint key
            of the ledger signed *note*.

    """
    proof = prove(store, seq, note)
    check_proof(store, proof.to_text().encode(), place=f"event {seq}")
    size = Checkpoint.parse(Note.parse(proof.checkpoint_note).text).size
    signer = store.checkpointer
    if signer is None or signer.public not in store.keyring().checkpoint_keys_at(size):
        raise KeyRefused(
            "a receipt is signed by a checkpoint key, and there is none here",
            rule="cose/no-key",
            place=store.place,
            remedy="use the trust home that has it; `muniment keys list` shows whose",
        )
    return sign_receipt(proof, signer)


def newest_checkpoint(store: Store) -> Checkpoint | None:
    """Return the newest checkpoint of the file, its signature checked."""
    size, note = store.last_checkpoint()
    if note is None:
        return None
    keys = store.keyring().checkpoint_keys_at(size)
    return read_checkpoint(note, origin_of(store.ledger_id), keys)


def root_of(store: Store, size: int) -> bytes:
    """Return the root of the first *size* events, as the file's tree has it."""
    with store.database.reading() as driver:
        return subtree_root(0, size, node_reader(driver.execute))


def consistency(store: Store, old: int, new: int) -> list[bytes]:
    """Return the proof that the first *old* of *new* events were never changed."""
    with store.database.reading() as driver:
        return consistency_proof(old, new, node_reader(driver.execute))


def sign_statement(store: Store, payload: bytes) -> Envelope:
    """Return *payload*, which is no event, signed by the key that signs events here.

    Raises:
        KeyRefused: no key here signs events, or none that may.

    """
    writer = store.writer
    if writer is None or writer.public not in store.keyring().current("writer"):
        raise KeyRefused(
            "no key here may sign for the ledger",
            rule="attestation/no-key",
            place=store.place,
            remedy="attest where the writer's key is: `muniment keys list` shows whose "
            "keys the ledger has",
        )
    return sign_payload(payload, writer)
