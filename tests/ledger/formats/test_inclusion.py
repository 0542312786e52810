"""Proofs that carry their event are checked with public keys alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from muniment.encoding.canonical import canonical, parse
from muniment.errors import CannotTellError, WrongError
from muniment.formats.checkpoint import TlogProof, origin
from muniment.formats.tlog_proof import check_inclusion, origin_of_proof, with_event
from muniment.keys.ed25519 import PrivateKey, PublicKey
from muniment.ledger import Ledger


@pytest.fixture
def keys(ledger: Ledger) -> tuple[PublicKey, ...]:
    """Give the ledger some events, and its checkpoint keys."""
    ledger.append_many([("note.added", {"text": str(i)}) for i in range(6)])
    ledger.checkpoint()
    return ledger.store.keyring().current("checkpoint")


def proof_of(ledger: Ledger, seq: int) -> TlogProof:
    """Return the proof of event *seq*, the event inside."""
    event = ledger.event(seq)
    return with_event(ledger.prove(seq), event.payload, event.signature, event.key)


def test_every_event_is_proved(ledger: Ledger, keys: tuple[PublicKey, ...]) -> None:
    """The proof of each event yields its payload, signer and tree."""
    for seq in range(7):
        data = proof_of(ledger, seq).to_text().encode()
        assert origin_of_proof(data) == origin(ledger.id)
        found = check_inclusion(data, origin(ledger.id), keys)
        event = ledger.event(seq)
        assert (found.seq, found.size, found.payload) == (seq, 7, event.payload)
        assert found.signer == PublicKey(event.key).keyid
        assert found.checkpoint_key == keys[0].keyid


def test_other_readers_pass_over_the_event(
    ledger: Ledger, keys: tuple[PublicKey, ...]
) -> None:
    """The file is an ordinary tlog-proof for whoever has the leaf hash."""
    proof = TlogProof.parse(proof_of(ledger, 3).to_text())
    leaf = bytes.fromhex(ledger.event(3).hash)
    assert proof.verify(leaf, origin(ledger.id), keys).size == 7


def test_another_event_in_the_proof(
    ledger: Ledger, keys: tuple[PublicKey, ...]
) -> None:
    """An event that is not the one at the index does not lead to the root."""
    swapped = replace(proof_of(ledger, 3), extra=proof_of(ledger, 4).extra)
    with pytest.raises(WrongError, match="do not lead to the root"):
        check_inclusion(swapped.to_text().encode(), origin(ledger.id), keys)


def test_a_key_that_signed_nothing(ledger: Ledger, keys: tuple[PublicKey, ...]) -> None:
    """The event's signature is checked under the key that the proof names."""
    proof = proof_of(ledger, 3)
    event = ledger.event(3)
    stranger = PrivateKey.generate().public.raw
    other = with_event(proof, event.payload, event.signature, stranger)
    with pytest.raises(WrongError, match="signature is wrong"):
        check_inclusion(other.to_text().encode(), origin(ledger.id), keys)


def test_a_stranger_checkpoint_key(ledger: Ledger, keys: tuple[PublicKey, ...]) -> None:
    """Under keys that did not sign the checkpoint the proof shows nothing."""
    assert keys
    data = proof_of(ledger, 3).to_text().encode()
    with pytest.raises(WrongError, match="no known checkpoint key"):
        check_inclusion(data, origin(ledger.id), [PrivateKey.generate().public])
    with pytest.raises(WrongError, match="origin"):
        check_inclusion(data, origin("sha256:" + "0" * 64), keys)


def test_a_bare_proof_cannot_be_told(
    ledger: Ledger, keys: tuple[PublicKey, ...]
) -> None:
    """Without its event a proof needs the ledger beside it."""
    data = ledger.prove(3).to_text().encode()
    with pytest.raises(CannotTellError, match="does not carry its event"):
        check_inclusion(data, origin(ledger.id), keys)


@pytest.mark.parametrize(
    "extra",
    [b"x", b"{}", b"[]", b'{"envelope":{},"publicKey":""}', b'{"publicKey":1}'],
)
def test_unreadable_extra_data(
    ledger: Ledger, keys: tuple[PublicKey, ...], extra: bytes
) -> None:
    """Whatever else stands in the extra data is refused by name."""
    data = replace(proof_of(ledger, 3), extra=extra).to_text().encode()
    with pytest.raises(WrongError, match="cannot be read"):
        check_inclusion(data, origin(ledger.id), keys)


def test_an_unknown_member_in_the_extra_data(
    ledger: Ledger, keys: tuple[PublicKey, ...]
) -> None:
    """Nothing can be smuggled in beside the envelope and the key."""
    proof = proof_of(ledger, 3)
    members = parse(proof.extra or b"")
    assert isinstance(members, dict)
    extra = canonical({**members, "note": "trust me"})
    data = replace(proof, extra=extra).to_text().encode()
    with pytest.raises(WrongError, match="cannot be read"):
        check_inclusion(data, origin(ledger.id), keys)
