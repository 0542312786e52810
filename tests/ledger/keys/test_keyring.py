"""The keyring: who may sign what, and from which event to which."""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import pairwise

import pytest

from keyrings import (
    CHECKPOINT,
    LEDGER,
    NEXT,
    NONCE,
    OTHER,
    ROOT,
    ROOT_ROLE,
    WRITER,
    WRITER_ROLE,
    Data,
    genesis_data,
    opened,
    refused,
    root_rotation,
    state,
    writer_entry,
)
from muniment.errors import WrongError
from muniment.keys.ed25519 import ROLES, PrivateKey
from muniment.keys.enrolment import enrolment, genesis_context, next_root_commitment
from muniment.keys.keyring import Keyring


def test_a_fresh_ledger() -> None:
    """The genesis gives each key its role and nothing more."""
    keyring = opened()
    assert keyring.may_sign(WRITER.public.raw, "note.added")
    assert not keyring.may_sign(WRITER.public.raw, "key.enrolled")
    assert keyring.may_sign(ROOT.public.raw, "key.enrolled")
    assert not keyring.may_sign(ROOT.public.raw, "note.added")
    assert not keyring.may_sign(CHECKPOINT.public.raw, "note.added")
    assert not keyring.may_sign(OTHER.public.raw, "note.added")
    assert keyring.current("checkpoint") == (CHECKPOINT.public,)
    assert keyring.publics[WRITER.public.raw] == WRITER.public
    named = [(entry.keyid, entry.name, entry.since) for entry in keyring.entries]
    assert named[1] == (WRITER.public.keyid, "laptop", 0)


def test_one_key_may_hold_several_roles() -> None:
    """A key enrolled for all four roles may sign everything."""
    keys = [enrolment(ROOT, ROLES, genesis_context(NONCE))]
    keyring = Keyring.genesis(genesis_data(keys=keys), ROOT.public, LEDGER)
    for event_type in ("note.added", "key.revoked"):
        assert keyring.may_sign(ROOT.public.raw, event_type)
    assert all(keyring.current(role) == (ROOT.public,) for role in ROLES)


def test_a_successor_quotes_the_old_ledger() -> None:
    """A genesis may say which ledger it continues, completely or not at all."""
    continues = {"ledger": LEDGER, "checkpoint": "note", "reason": "restored"}
    data = genesis_data(continues=continues)
    assert Keyring.genesis(data, ROOT.public, LEDGER).current("root")
    for name in continues:
        partial = {key: value for key, value in continues.items() if key != name}
        with pytest.raises(WrongError, match=f"continues.{name}: is missing"):
            Keyring.genesis(genesis_data(continues=partial), ROOT.public, LEDGER)


def test_intervals_of_a_key() -> None:
    """A key counts after its enrolment, and no longer after its revocation."""
    keyring, raw = opened(), OTHER.public.raw
    assert not keyring.may_sign(raw, "note.added")
    keyring.apply(5, "key.enrolled", writer_entry(), ROOT.public)
    assert keyring.may_sign(raw, "note.added")
    data: Data = {"keyid": OTHER.public.keyid, "reason": "stolen"}
    keyring.apply(9, "key.revoked", data, ROOT.public)
    assert not keyring.may_sign(raw, "note.added")
    assert raw in keyring.publics
    entry = keyring.entries[-1]
    assert (entry.since, entry.until) == (5, 9)


def test_intervals_of_a_checkpoint_key() -> None:
    """A checkpoint's key is in the tree that it signs, and its end is not."""
    keyring = opened()
    entry = enrolment(OTHER, ["checkpoint"], LEDGER)
    rotation: Data = {"old": CHECKPOINT.public.keyid, "new": entry}
    keyring.apply(6, "key.rotated", rotation, ROOT.public)
    held = {size: keyring.checkpoint_keys_at(size) for size in range(9)}
    assert held[0] == ()
    assert {held[size] for size in range(1, 7)} == {(CHECKPOINT.public,)}
    assert {held[size] for size in range(7, 9)} == {(OTHER.public,)}


def test_events_that_are_not_about_keys() -> None:
    """Other types leave the keyring alone; a second genesis is wrong."""
    keyring = opened()
    before = copy.deepcopy(state(keyring))
    keyring.apply(3, "note.added", {"keyid": "x"}, WRITER.public)
    keyring.apply(4, "key.admired", None, WRITER.public)
    assert state(keyring) == before
    refused(keyring, "ledger.opened", genesis_data(), ROOT, "genesis")


def test_a_copy_is_independent() -> None:
    """What is folded into a copy does not show in the original."""
    keyring = opened()
    twin = keyring.copy()
    assert state(twin) == state(keyring)
    twin.apply(1, "key.enrolled", writer_entry(), ROOT.public)
    twin.apply(2, "key.rotated", root_rotation(), NEXT.public)
    assert state(keyring) == state(opened())


def test_a_thief_of_the_writer_key() -> None:
    """The writer's key enrols, revokes and rotates nothing, itself included."""
    keyring = opened()
    thief = WRITER
    refused(keyring, "key.enrolled", writer_entry(), thief, "role")
    revocation = {"keyid": ROOT.public.keyid, "reason": "mine now"}
    refused(keyring, "key.revoked", revocation, thief, "role")
    rotation = {"old": WRITER.public.keyid, "new": writer_entry()}
    refused(keyring, "key.rotated", rotation, thief, "role")
    refused(keyring, "key.rotated", root_rotation(), thief, "role")


def test_a_thief_of_the_root_key() -> None:
    """The root's key makes no other root, keeps none out, and ends with the next."""
    keyring, thief = opened(), ROOT
    root_entry = enrolment(OTHER, ROOT_ROLE, LEDGER)
    refused(keyring, "key.enrolled", root_entry, thief, "root")
    refused(keyring, "key.rotated", root_rotation(OTHER), thief, "next-root")
    refused(keyring, "key.rotated", root_rotation(OTHER), OTHER, "next-root")
    refused(keyring, "key.rotated", root_rotation(NEXT), thief, "role")
    revocation = {"keyid": ROOT.public.keyid, "reason": "lock everybody out"}
    refused(keyring, "key.revoked", revocation, thief, "root")
    squat = enrolment(NEXT, WRITER_ROLE, LEDGER)
    refused(keyring, "key.enrolled", squat, thief, "next-root")
    assert keyring.may_sign(NEXT.public.raw, "key.rotated")
    assert not keyring.may_sign(NEXT.public.raw, "key.enrolled")
    keyring.apply(8, "key.rotated", root_rotation(), NEXT.public)
    assert keyring.current("root") == (NEXT.public,)
    assert not keyring.may_sign(ROOT.public.raw, "key.revoked")
    assert not keyring.may_sign(ROOT.public.raw, "key.rotated")
    refused(keyring, "key.enrolled", writer_entry(), thief, "role")


def test_roots_follow_one_another() -> None:
    """Each root commits to the next, and only that one follows it."""
    keyring, roots = opened(), [NEXT, *(PrivateKey.generate() for _ in range(4))]
    old = ROOT
    for seq, (new, following) in enumerate(pairwise(roots), 1):
        commitment = next_root_commitment(following.public)
        data = root_rotation(new, old=old.public.keyid, next_root=commitment)
        keyring.apply(seq, "key.rotated", data, new.public)
        assert keyring.current("root") == (new.public,)
        old = new


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"next_root": next_root_commitment(NEXT.public)}, "next-root"),
        ({"next_root": next_root_commitment(WRITER.public)}, "next-root"),
        ({"next_root": "sha256:AB"}, "form"),
        ({"next_root": None}, "type"),
        ({"old": WRITER.public.keyid}, "roles"),
        ({"old": OTHER.public.keyid}, "unknown"),
        ({"new": enrolment(NEXT, WRITER_ROLE, LEDGER)}, "roles"),
        ({"new": enrolment(NEXT, ["root", "writer"], LEDGER)}, "roles"),
        ({"new": enrolment(NEXT, ROOT_ROLE, genesis_context(NONCE))}, "possession"),
        ({"extra": 1}, "unknown-member"),
    ],
)
def test_rotations_of_the_root_that_are_wrong(changes: Data, rule: str) -> None:
    """Each way in which the next root's own event can be wrong has a name."""
    refused(opened(), "key.rotated", root_rotation(**changes), NEXT, rule)


def test_the_next_root_is_committed_to_always() -> None:
    """A root that names no successor is refused; another key must name none."""
    data = root_rotation()
    del data["next_root"]
    refused(opened(), "key.rotated", data, NEXT, "missing-member")
    data = root_rotation(OTHER, old=WRITER.public.keyid, new=writer_entry())
    refused(opened(), "key.rotated", data, ROOT, "unknown-member")


def test_a_rotated_key_gains_no_role() -> None:
    """A rotation hands on roles of the old key, never others."""
    for roles in (["checkpoint"], ["checkpoint", "writer"], ROOT_ROLE):
        entry = enrolment(OTHER, roles, LEDGER)
        data = {"old": WRITER.public.keyid, "new": entry}
        refused(opened(), "key.rotated", data, ROOT, "roles")


def broken(path: str, value: object) -> Callable[[], Data]:
    """Return an entry in which *path* is *value*; ``...`` removes it."""

    def build() -> Data:
        entry = copy.deepcopy(writer_entry())
        *parents, last = path.split(".")
        target = entry
        for parent in parents:
            target = target[parent]
        if value is ...:
            del target[last]
        else:
            target[last] = value
        return entry

    return build


WEAK = "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
NON_CANONICAL = "8P///////////////////////////////////////38="


@pytest.mark.parametrize(
    ("build", "rule"),
    [
        *(
            (broken(name, ...), "missing-member")
            for name in ("keyid", "possession", "possession.writer", "public", "roles")
        ),
        *((broken(name, 7), "type") for name in ("keyid", "possession", "public")),
        (broken("possession.writer", 7), "type"),
        (broken("name", None), "type"),
        (broken("nom", ""), "unknown-member"),
        (broken("possession.root", ""), "unknown-member"),
        (broken("public", "?"), "base64"),
        (broken("public", WEAK[:-1]), "base64"),
        (broken("public", WEAK[:-2] + "B="), "base64"),
        (broken("possession.writer", "é"), "base64"),
        (broken("public", "AAAA"), "length"),
        (broken("public", WEAK), "low-order"),
        (broken("public", NON_CANONICAL), "non-canonical"),
        (broken("keyid", WRITER.public.keyid), "keyid"),
        (broken("roles", "writer"), "roles"),
        (broken("roles", []), "roles"),
        (broken("roles", ["king"]), "roles"),
        (broken("roles", ["writer", {}]), "roles"),
        (broken("roles", ["writer", "writer"]), "roles"),
        (broken("roles", ["writer", "approver"]), "missing-member"),
        (broken("possession.writer", ""), "possession"),
        (broken("possession.writer", "AAAA"), "possession"),
        (lambda: enrolment(WRITER, WRITER_ROLE, LEDGER), "duplicate"),
        (lambda: enrolment(OTHER, WRITER_ROLE, "sha256:" + "0" * 64), "possession"),
    ],
)
def test_entries_that_are_wrong(build: Callable[[], Data], rule: str) -> None:
    """Each way in which an enrolled entry can be wrong has a rule of its own."""
    error = refused(opened(), "key.enrolled", build(), ROOT, rule)
    assert error.place.startswith("event 7 data")


@pytest.mark.parametrize("data", [None, [], "x", 1, True])
@pytest.mark.parametrize("event_type", ["key.enrolled", "key.revoked", "key.rotated"])
def test_data_that_is_no_object(event_type: str, data: object) -> None:
    """The data of an event about keys is an object."""
    signer = NEXT if event_type == "key.rotated" else ROOT
    refused(opened(), event_type, data, signer, "type")


def test_one_proof_of_possession_per_role() -> None:
    """The proof for one role proves nothing about another."""
    entry: Data = enrolment(OTHER, ["approver", "writer"], LEDGER)
    proofs = entry["possession"]
    proofs["writer"] = proofs["approver"]
    refused(opened(), "key.enrolled", entry, ROOT, "possession")


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        ({"keyid": WRITER.public.keyid}, "missing-member"),
        ({"reason": ""}, "missing-member"),
        ({"keyid": WRITER.public.keyid, "reason": 1}, "type"),
        ({"keyid": OTHER.public.keyid, "reason": ""}, "unknown"),
        ({"keyid": "", "reason": "", "x": 1}, "unknown-member"),
    ],
)
def test_revocations_that_are_wrong(data: Data, rule: str) -> None:
    """Each way in which a revocation can be wrong has a rule of its own."""
    refused(opened(), "key.revoked", data, ROOT, rule)


def test_a_key_ends_once_and_for_all() -> None:
    """An ended key is not revoked again, not rotated, and never comes back."""
    keyring = opened()
    data: Data = {"keyid": WRITER.public.keyid, "reason": "gone"}
    keyring.apply(3, "key.revoked", data, ROOT.public)
    error = refused(keyring, "key.revoked", data, ROOT, "revoked")
    assert "ended with event 3" in str(error)
    rotation = {"old": WRITER.public.keyid, "new": writer_entry()}
    refused(keyring, "key.rotated", rotation, ROOT, "revoked")
    refused(keyring, "key.enrolled", writer_entry(WRITER), ROOT, "duplicate")


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"nonce": "CD" * 32}, "form"),
        ({"nonce": 1}, "type"),
        ({"nonce": "ab" * 32}, "possession"),
        ({"next_root": "md5:0"}, "form"),
        ({"next_root": next_root_commitment(WRITER.public)}, "next-root"),
        ({"formats": {}}, "missing-member"),
        ({"formats": {"event": True, "checkpoint": 1, "layout": 1}}, "type"),
        ({"formats": {"event": 0, "checkpoint": 1, "layout": 1}}, "type"),
        ({"keys": {}}, "type"),
        ({"keys": []}, "root"),
        ({"keys": [1]}, "type"),
        ({"keys": [writer_entry()]}, "possession"),
        ({"continues": 1}, "type"),
        ({"motto": ""}, "unknown-member"),
    ],
)
def test_geneses_that_are_wrong(changes: Data, rule: str) -> None:
    """Each way in which a genesis can be wrong has a rule of its own."""
    with pytest.raises(WrongError) as caught:
        Keyring.genesis(genesis_data(**changes), ROOT.public, LEDGER)
    assert caught.value.rule == f"key/{rule}"
    assert caught.value.seq == 0


def test_a_genesis_has_one_root_who_signs_it() -> None:
    """A genesis with two roots, twice one key, or by another signer is wrong."""
    context = genesis_context(NONCE)
    one, other = (enrolment(key, ROOT_ROLE, context) for key in (ROOT, OTHER))
    for keys, rule in (([one, other], "root"), ([one, one], "duplicate")):
        with pytest.raises(WrongError) as caught:
            Keyring.genesis(genesis_data(keys=keys), ROOT.public, LEDGER)
        assert caught.value.rule == f"key/{rule}"
    with pytest.raises(WrongError, match="is not the root"):
        Keyring.genesis(genesis_data(), WRITER.public, LEDGER)
