"""What breaks the sentences of ``checkpoint.md``: entries, notes, proofs of events."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from forge import leaf_hash, make_key, pae, raw, root
from forged import b64
from muniment.formats.checkpoint import read_checkpoint
from muniment.keys.ed25519 import PublicKey
from worlds import World, breaks, refused

__all__ = ["STRANGER"]

STRANGER = make_key("stranger")
_SPKI = bytes.fromhex("302a300506032b6570032100")


# --- entries --------------------------------------------------------------------------


@breaks(
    "checkpoint",
    "The signature MUST be Ed25519",
    "A verifier MUST NOT conclude from it that Ed25519ph was used",
    rule="event/signature",
)
def a_signature_of_a_digest(world: World, wrong: bool) -> None:
    """Sign the digest that the label of the entry speaks of."""
    row = world.note()
    told = hashlib.sha512(pae(row.payload)).digest() if wrong else pae(row.payload)
    mark = world.forge.key("writer").sign(told)
    leaf = leaf_hash(row.payload, mark, row.key)
    world.forge.rows[-1] = replace(row, signature=mark, hash=leaf)


@breaks("checkpoint", "`keyDetails` MUST be `PKIX_ED25519_PH`", rule="event/leaf-hash")
def another_label(world: World, wrong: bool) -> None:
    """Hash an entry that says what the signature is."""
    row = world.note()
    label = "PKIX_ED25519" if wrong else "PKIX_ED25519_PH"
    leaf = leaf_hash(row.payload, row.signature, row.key, label)
    world.forge.rows[-1] = replace(row, hash=leaf)


@breaks(
    "checkpoint",
    "A verifier MUST build the entry from the stored payload",
    "It MUST NOT accept an entry from elsewhere",
    rule="event/leaf-hash",
)
def the_leaf_of_another_event(world: World, wrong: bool) -> None:
    """Have the hash of an entry that is sound, and not of what is stored."""
    row = world.note()
    other = world.note("another")
    leaf = other.hash if wrong else row.hash
    world.forge.rows[-2:] = [replace(row, hash=leaf)]


# --- checkpoints ----------------------------------------------------------------------


def _origin(world: World) -> str:
    return f"l-{world.forge.ledger[7:39]}.muniment.invalid"


def _line(name: str, key: Ed25519PrivateKey, text: bytes, said: str = "") -> bytes:
    """Return the line by which *key* signs *text* as *name*."""
    mark = hashlib.sha256(name.encode() + b"\n\1" + raw(key)).digest()[:4]
    return f"— {said or name} {b64(mark + key.sign(text))}\n".encode()


def _text(world: World, origin: str = "", size: int = -1, top: bytes = b"") -> bytes:
    hashes = [row.hash for row in world.forge.rows]
    size = len(hashes) if size < 0 else size
    top = top or root(hashes[:size])
    return f"{origin or _origin(world)}\n{size}\n{b64(top)}\n".encode()


def _noted(world: World, text: bytes, *lines: bytes) -> None:
    """Put a note into the file; without lines, the log signs."""
    whole = b"".join(lines) or _own(world, text)
    size = int(text.split(b"\n")[1])
    world.forge.notes.append((size, text + b"\n" + whole))


def _own(world: World, text: bytes) -> bytes:
    """Return the line of the log, under the name that *text* begins with."""
    name = text.decode().split("\n")[0]
    return _line(name, world.forge.key("checkpoint"), text)


def _read(world: World, text: bytes, *lines: bytes) -> set[str]:
    """Return what is wrong with a note of these lines."""
    key = PublicKey(raw(world.forge.key("checkpoint")))
    note = text + b"\n" + b"".join(lines)
    return refused(lambda: read_checkpoint(note, _origin(world), [key]))


@breaks("checkpoint", "The origin of a ledger MUST be", rule="checkpoint/origin")
def a_longer_origin(world: World, wrong: bool) -> None:
    """Take one digit more of the id."""
    longer = f"l-{world.forge.ledger[7:40]}.muniment.invalid"
    _noted(world, _text(world, longer if wrong else ""))


@breaks("checkpoint", "The size MUST NOT be 0 unless", rule="checkpoint/empty-root")
def the_root_of_nothing(world: World, wrong: bool) -> set[str]:
    """Say that the empty tree has another root."""
    text = _text(world, size=0, top=bytes(32) if wrong else b"")
    return _read(world, text, _own(world, text))


@breaks(
    "checkpoint",
    "One signature line MUST be the log's",
    "MUST ignore lines with other names and marks",
    rule="checkpoint/unsigned",
)
def a_witness_alone(world: World, wrong: bool) -> None:
    """Have a witness sign, without the log."""
    text = _text(world)
    witness = _line("witness.example", STRANGER, text)
    own = _line(_origin(world), world.forge.key("checkpoint"), text)
    _noted(world, text, *([] if wrong else [own]), witness)


@breaks("checkpoint", "Its name MUST be the origin", rule="checkpoint/unsigned")
def a_line_by_another_name(world: World, wrong: bool) -> None:
    """Sign with the key of the log as somebody else."""
    text, key = _text(world), world.forge.key("checkpoint")
    said = "log.example" if wrong else ""
    _noted(world, text, _line(_origin(world), key, text, said))


@breaks(
    "checkpoint",
    "MUST refuse a note in which a line with the name and mark",
    rule="note/signature",
)
def a_wrong_line_beside_a_right_one(world: World, wrong: bool) -> None:
    """Have the log sign twice, the second time something else."""
    text, key = _text(world), world.forge.key("checkpoint")
    right, other = (_line(_origin(world), key, one) for one in (text, text + b"x"))
    _noted(world, text, right, other if wrong else right)


def _malformed(what: str, rule: str, *more: bytes) -> None:
    """Enter a case of a note with *more* lines than those of the log."""

    def case(world: World, wrong: bool) -> set[str]:
        text = _text(world)
        return _read(world, text, _own(world, text), *(more if wrong else ()))

    case.__name__ = what
    breaks("checkpoint", "MUST refuse a note that is not UTF-8", rule=rule)(case)


_WITNESS = b"\xe2\x80\x94 witness.example " + b64(bytes(68)).encode() + b"\n"
_LONG = _WITNESS.replace(b"w", b"w" * 1_000_000, 1)
_malformed("a line that is not UTF-8", "note/encoding", b"\xff\n")
_malformed("a carriage return", "note/control", _WITNESS[:-1] + b"\r\n")
_malformed("a hundred witnesses", "note/too-many", *[_WITNESS] * 100)
_malformed("a witness with a name of a megabyte", "note/too-long", _LONG)


# --- what a log signs -----------------------------------------------------------------


@breaks(
    "checkpoint",
    "MUST NOT sign a checkpoint before the events under it are durable",
    rule="checkpoint/beyond",
)
def a_checkpoint_of_events_that_are_lost(world: World, wrong: bool) -> None:
    """Have a checkpoint in the file, and not the last event under it."""
    world.note()
    longer = world.forge.copy()
    longer.append("note.added", {"text": "lost"})
    signed = longer if wrong else world.forge
    world.forge.notes.append((len(signed.rows), signed.note()))


@breaks(
    "checkpoint",
    "MUST have a checkpoint durable in its file before it gives it to anybody",
    rule="checkpoint/missing",
)
def an_anchor_that_the_file_has_not(world: World, wrong: bool) -> None:
    """Give a checkpoint to somebody, and go on without it."""
    world.note()
    world.anchor = world.folder / "anchor"
    world.anchor.write_bytes(world.forge.note())
    if not wrong:
        world.forge.checkpoint()
    world.note()


@breaks("checkpoint", "MUST NOT sign a checkpoint smaller", rule="anchor/root")
def a_checkpoint_that_is_not_consistent(world: World, wrong: bool) -> None:
    """Sign another history besides that of the file."""
    other = world.forge.copy()
    world.note("as it was")
    other.append("note.added", {"text": "another" if wrong else "as it was"})
    world.anchor = world.folder / "anchor"
    world.anchor.write_bytes(other.note())
    world.forge.checkpoint()
