"""COSE receipts: one spelling, signed by the log, over roots it has signed before."""

from __future__ import annotations

from typing import Any

import cbor2
import pytest
from scitt_cose.receipt import verify_receipt

from muniment.errors import CannotTellError, KeyRefused, UsageError, WrongError
from muniment.formats.checkpoint import Checkpoint, Note, origin, sign_checkpoint
from muniment.formats.cose_receipt import SIZE
from muniment.formats.dsse import log_entry, pae, spki_base64
from muniment.keys.ed25519 import PrivateKey, PublicKey
from muniment.ledger import Ledger


@pytest.fixture
def filled(ledger: Ledger) -> Ledger:
    """Give a ledger of seven events."""
    ledger.append_many([("note.added", {"text": f"note {i}"}) for i in range(6)])
    ledger.checkpoint()
    return ledger


def entry(ledger: Ledger, seq: int) -> str:
    """Return the log entry of event *seq* in hexadecimal."""
    event = ledger.event(seq)
    spki = spki_base64(PublicKey(event.key))
    return log_entry(pae(event.payload), event.signature, spki).hex()


def checked(ledger: Ledger, receipt: bytes, seq: int) -> Any:
    """Return what scitt-cose says of *receipt* for event *seq*."""
    (log,) = ledger.keys.current("checkpoint")
    return verify_receipt(
        receipt, leaf_entry_hex=entry(ledger, seq), log_public_key_pem=log.pem
    )


def test_scitt_cose_reads_what_the_log_signed(filled: Ledger) -> None:
    """Place, size, log and event come out of a reader that knows nothing of muniment."""
    (log,) = filled.keys.current("checkpoint")
    for seq in range(7):
        found = checked(filled, filled.cose_receipt(seq), seq)

        assert (found.ok, found.errors) == (True, [])
        assert (found.leaf_index, found.tree_size) == (seq, 7)
        assert found.root == filled.root(7).hex()
        assert found.issuer == origin(filled.id)
        assert found.subject == f"{origin(filled.id)}/{seq}"
        assert found.protected_header_ext == {4: log.keyid.encode(), SIZE: 7}


def test_a_receipt_is_of_one_event(filled: Ledger) -> None:
    """The receipt of one event proves no other."""
    receipt = filled.cose_receipt(3)
    for seq in (0, 2, 4, 6):
        assert not checked(filled, receipt, seq).ok


def test_one_spelling(filled: Ledger) -> None:
    """The bytes are those of deterministic CBOR, and the same each time."""
    for seq in range(7):
        receipt = filled.cose_receipt(seq)
        tag = cbor2.loads(receipt)
        protected, headers, payload, _ = tag.value
        (path,) = headers[396][-1]

        assert cbor2.dumps(tag, canonical=True) == receipt
        assert cbor2.dumps(cbor2.loads(protected), canonical=True) == protected
        assert cbor2.dumps(cbor2.loads(path), canonical=True) == path
        assert (tag.tag, payload) == (18, None)
        assert filled.cose_receipt(seq) == receipt


def test_a_lie_about_the_size_is_seen(filled: Ledger) -> None:
    """The format lets a size of the same shape through; the signed one tells."""
    tag = cbor2.loads(filled.cose_receipt(1))
    protected, headers, payload, signature = tag.value
    size, index, hashes = cbor2.loads(headers[396][-1][0])
    path = cbor2.dumps([size + 1, index, hashes])
    lie = cbor2.CBORTag(18, [protected, {396: {-1: [path]}}, payload, signature])
    found = checked(filled, cbor2.dumps(lie), 1)

    assert (found.ok, found.tree_size) == (True, 8)
    assert found.protected_header_ext[SIZE] == 7


def test_an_older_checkpoint(filled: Ledger) -> None:
    """A receipt can be under a checkpoint that is kept, and under none of another."""
    note = filled.checkpoint()
    assert note is not None
    filled.append("note.added", {"text": "later"})
    filled.checkpoint()

    assert checked(filled, filled.cose_receipt(2, note), 2).tree_size == 7
    assert checked(filled, filled.cose_receipt(2), 2).tree_size == 8
    with pytest.raises(UsageError, match="does not cover"):
        filled.cose_receipt(7, note)


def test_nothing_else_is_signed(filled: Ledger) -> None:
    """A root that the log did not sign gets no signature by way of a receipt."""
    own = Checkpoint.parse(Note.parse(filled.checkpoint() or b"").text)
    stranger = PrivateKey.generate()
    for root in (own.root, bytes(32)):
        head = Checkpoint(own.origin, own.size, root)
        with pytest.raises(WrongError, match="no checkpoint key of this ledger"):
            filled.cose_receipt(2, sign_checkpoint(head, stranger))


def test_without_the_key(filled: Ledger) -> None:
    """A ledger that is only read signs no receipt."""
    with (
        Ledger.open(filled.path, home=filled.home, readonly=True, plugins=()) as read,
        pytest.raises(KeyRefused, match="signed by a checkpoint key"),
    ):
        read.cose_receipt(2)


def test_a_tree_of_one_event(ledger: Ledger) -> None:
    """The format has no proof without hashes; one more event, and there is a receipt."""
    with pytest.raises(CannotTellError, match="at least one hash"):
        ledger.cose_receipt(0)
    ledger.append("note.added", {"text": "a"})

    assert checked(ledger, ledger.cose_receipt(0, ledger.checkpoint()), 0).ok
