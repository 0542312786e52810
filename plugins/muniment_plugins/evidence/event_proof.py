"""One event and its proof in other people's formats.

    found = sigstore_proof(ledger, 7)
    found.bundle           event-7.sigstore.json: cosign, and whatever reads v0.3
    found.trusted_root     trusted_root.json: the log, as its reader has to know it

Rules:

- Nothing is given out that would not verify: the proof is checked beside the ledger first.
- The tree head has the log's own signature alone; those of witnesses are left out.
- The trusted root is for convenience, like every key that comes with what it verifies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from muniment.formats.checkpoint import TlogProof, origin
from muniment.formats.dsse import Envelope, log_entry, pae, spki_base64
from muniment.formats.sigstore import SigstoreBundle, trusted_root
from muniment.formats.tlog_proof import with_event
from muniment.keys.ed25519 import PublicKey
from muniment_plugins.evidence.files import own_line

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["SigstoreProof", "event_entry", "sigstore_proof"]


@dataclass(frozen=True, slots=True)
class SigstoreProof:
    """One event for Sigstore clients."""

    bundle: bytes
    """A Sigstore bundle v0.3: the envelope, and its proof under a tree head."""
    trusted_root: bytes
    """A trusted root 0.1 with the ledger's log alone."""
    proof: TlogProof
    """The same proof."""


def sigstore_proof(ledger: Ledger, seq: int) -> SigstoreProof:
    """Return event *seq*, of whatever type, as a Sigstore bundle v0.3.

    Raises:
        UsageError: there is no such event.
        CannotTellError: no checkpoint covers it, and none can be signed here.
        WrongError: the ledger's own record of the event does not verify.

    """
    event, newest = ledger.event(seq), ledger.prove(seq)
    note, log = own_line(newest.checkpoint_note, ledger)
    proof = TlogProof(seq, newest.hashes, note)
    whole = with_event(proof, event.payload, event.signature, event.key)
    ledger.check_proof(whole.to_text().encode(), place=f"event {seq}")
    signer = PublicKey(event.key)
    envelope = Envelope(event.payload, signer.keyid, event.signature)
    bundle = SigstoreBundle(envelope, proof).to_json(signer, log)
    return SigstoreProof(bundle, trusted_root(origin(ledger.id), log), proof)


def event_entry(event: Event) -> bytes:
    """Return the log entry of *event*: the bytes whose leaf is in the tree."""
    spki = spki_base64(PublicKey(event.key))
    return log_entry(pae(event.payload), event.signature, spki)
