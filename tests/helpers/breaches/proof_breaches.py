"""What breaks the sentences of ``checkpoint.md`` on proofs of events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rfc8785

from forge import Forge, Row, keyid, make_key
from forged import b64, named, path
from muniment.storage.append import Store
from muniment.storage.connections import Database
from muniment.storage.lookup import ledger_id_of
from muniment.storage.prove import check_proof
from worlds import World, breaks, refused

__all__ = ["Proof"]

STRANGER = make_key("stranger")
_SPKI = bytes.fromhex("302a300506032b6570032100")


class Proof:
    """A proof of the last event but one, each part of which can be another one."""

    def __init__(self, world: World, row: Row | None = None) -> None:
        """Take the parts that the ledger gives, for *row* in that event's place."""
        forge = world.forge
        self.hashes = [one.hash for one in forge.rows]
        self.index = len(forge.rows) - 2
        row = row or forge.rows[self.index]
        self.envelope: dict[str, Any] = {
            "payload": b64(row.payload),
            "payloadType": "application/vnd.in-toto+json",
            "signatures": [{"keyid": named(row.key), "sig": b64(row.signature)}],
        }
        self.public = row.key
        self.path = path(self.hashes, self.index)
        self.note = forge.note()
        self.extra: bytes | None = None

    def text(self) -> str:
        """Return the file."""
        spki = b64(_SPKI + self.public)
        event: dict[str, Any] = {"envelope": self.envelope, "publicKey": spki}
        extra = rfc8785.dumps(event) if self.extra is None else self.extra
        lines = [f"extra {b64(extra)}", f"index {self.index}", *map(b64, self.path)]
        note = self.note.decode()
        return "\n".join(["c2sp.org/tlog-proof@v1", *lines, "", note])


def _beside(world: World, text: str) -> set[str]:
    """Return what is wrong with a proof beside its ledger."""
    database = Database.open(world.write(), readonly=True)
    try:
        store = Store(database, ledger_id_of(database), None)
        return refused(lambda: check_proof(store, text.encode()))
    finally:
        database.dispose()


Spoil = Callable[[World, Proof], object]


def _proof(what: str, rule: str, spoil: Spoil, *sentences: str) -> None:
    """Enter a case of a proof that *spoil* changes."""

    def case(world: World, wrong: bool) -> set[str]:
        for number in range(4):
            world.note(str(number))
        proof = Proof(world)
        if wrong:
            spoil(world, proof)
        return _beside(world, proof.text())

    case.__name__ = what
    breaks("checkpoint", *sentences, rule=rule)(case)


def _twice(_: World, proof: Proof) -> None:
    proof.envelope["signatures"] *= 2


def _by(name: str) -> Spoil:
    def spoil(world: World, proof: Proof) -> None:
        proof.envelope["signatures"][0]["keyid"] = keyid(world.forge.key(name))

    return spoil


def _no_name(_: World, proof: Proof) -> None:
    proof.envelope["signatures"][0]["keyid"] = "writer"


def _spaced(_: World, proof: Proof) -> None:
    spki = b64(_SPKI + proof.public)
    event = rfc8785.dumps({"envelope": proof.envelope, "publicKey": spki})
    proof.extra = event.replace(b'":', b'": ', 1)


def _more(_: World, proof: Proof) -> None:
    proof.envelope["more"] = 1


def _hash_more(_: World, proof: Proof) -> None:
    proof.path.append(bytes(32))


def _hash_changed(_: World, proof: Proof) -> None:
    proof.path[0] = bytes(32)


def _hash_cut(_: World, proof: Proof) -> None:
    proof.path[0] = proof.path[0][:31]


def _by_a_stranger(world: World, proof: Proof) -> None:
    proof.note = world.forge.note(signer=STRANGER)


def _beyond(_: World, proof: Proof) -> None:
    proof.index = len(proof.hashes)
    proof.path = []


ALL_OF_IT = (
    "MUST NOT conclude anything from it before the leaf hash recomputed from it leads",
    "and MUST recompute the leaf hash from the event",
)
_ONE = "The envelope MUST have exactly one signature"
_NAMED = "Its `keyid` MUST be `SHA256:`"
_HINT = "it MUST refuse a signature under the `keyid` of another key"
_CANONICAL = "The JSON of an envelope MUST be canonical"
_MEMBERS = "and MUST have these members only"
_PATHS = "A verifier MUST check them as in"
_proof("two signatures", "tlog-proof/extra", _twice, _ONE)
_proof("a signature by a name that is none", "tlog-proof/extra", _no_name, _NAMED)
_proof("a signature by another name", "event/signature", _by("checkpoint"), _HINT)
_proof("a space in an envelope", "tlog-proof/extra", _spaced, _CANONICAL)
_proof("one member more", "tlog-proof/extra", _more, _MEMBERS)
_proof("a hash too many", "tlog-proof/inclusion", _hash_more, _PATHS)
_proof("another hash", "tlog-proof/inclusion", _hash_changed, _PATHS)
_proof(
    "a hash of 31 bytes",
    "tlog-proof/hash-size",
    _hash_cut,
    "and MUST refuse a hash that is not 32 bytes",
)
_proof(
    "a tree head by a stranger",
    "checkpoint/unsigned",
    _by_a_stranger,
    "a verifier MUST NOT take them from a proof",
    "A verifier MUST verify the checkpoint",
)
_proof(
    "an index at the size",
    "tlog-proof/beyond",
    _beyond,
    "MUST refuse an index that is not below its size",
)


@breaks("checkpoint", *ALL_OF_IT, rule="tlog-proof/inclusion")
def a_proof_of_another_event(world: World, wrong: bool) -> set[str]:
    """Carry an event that the writer signed for this place, and never wrote."""
    world.note()
    twin = world.forge.copy().append("note.added", {"text": "unwritten"})
    row = world.note("written")
    world.note()
    return _beside(world, Proof(world, twin if wrong else row).text())


def _placed(what: str, rule: str, sentence: str, **chain: Any) -> None:
    """Enter a case of an event that says that it is elsewhere."""

    def case(world: World, wrong: bool) -> set[str]:
        world.note(**(chain if wrong else {}))
        world.note()
        return _beside(world, Proof(world).text())

    case.__name__ = what
    breaks("checkpoint", sentence, rule=rule)(case)


_ELSEWHERE = "It MUST refuse an event whose `seq` is not the index"
_placed("an event of another number", "event/seq", _ELSEWHERE, seq=7)
_placed(
    "an event of another ledger",
    "event/ledger",
    _ELSEWHERE,
    ledger="sha256:" + "0" * 64,
)


@breaks(
    "checkpoint",
    "A verifier MUST choose the key from a source that it trusts and MUST NOT take",
    "a verifier MUST refuse a proof of an event whose key could not sign it at that place",
    rule="key/role",
)
def an_event_by_a_key_that_comes_with_it(world: World, wrong: bool) -> set[str]:
    """Sign by a stranger, under the stranger's own name and public key."""
    world.note(signer=STRANGER if wrong else None)
    world.note()
    return _beside(world, Proof(world).text())


@breaks(
    "checkpoint",
    "a verifier MUST refuse a proof of an event whose key could not sign it at that place",
    rule="tlog-proof/root",
)
def another_history_by_the_log_itself(world: World, wrong: bool) -> set[str]:
    """Prove an event by a tree head over another history of the same length."""
    other = World(world.folder / "other", Forge("one").open())
    for one in (world, other):
        one.note("as it was")
        one.note("another" if wrong and one is other else "the same")
        one.note()
    return _beside(world, Proof(other).text())


def _spelled(what: str, rule: str, was: str, is_now: str) -> None:
    """Enter a case of another spelling."""

    def case(world: World, wrong: bool) -> set[str]:
        world.note()
        world.note()
        text = Proof(world).text()
        assert was in text
        head, _, tail = text.rpartition(was)
        return _beside(world, head + is_now + tail if wrong else text)

    case.__name__ = what
    breaks("checkpoint", "Whatever is not written as described here MUST", rule=rule)(
        case
    )


_spelled("a leading zero", "tlog-proof/index", "index 1", "index 01")
_spelled("unpadded base64", "tlog-proof/base64", "=\n\nl-", "\n\nl-")
_spelled(
    "a carriage return in a proof", "tlog-proof/control", "index 1\n", "index 1\r\n"
)
_spelled("a missing line end", "tlog-proof/checkpoint", "=\n", "=")
