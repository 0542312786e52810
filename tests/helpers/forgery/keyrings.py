"""A small ledger's keys, and its good key events, for tests of the keyring."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from muniment.errors import WrongError
from muniment.keys.ed25519 import PrivateKey
from muniment.keys.enrolment import enrolment, genesis_context, next_root_commitment
from muniment.keys.keyring import Keyring

LEDGER = "sha256:" + "ab" * 32
NONCE = "cd" * 32
ROOT, WRITER, CHECKPOINT, NEXT, OTHER, LATER = (
    PrivateKey.from_seed(bytes([number]) * 32) for number in range(6)
)
ROOT_ROLE, WRITER_ROLE = ["root"], ["writer"]
Data = dict[str, Any]


def genesis_data(**changes: object) -> Data:
    """Return the data of a good ``ledger.opened``, with *changes*."""
    context = genesis_context(NONCE)
    return {
        "nonce": NONCE,
        "formats": {"event": 1, "checkpoint": 1, "layout": 1},
        "keys": [
            enrolment(ROOT, ROOT_ROLE, context),
            enrolment(WRITER, WRITER_ROLE, context, "laptop"),
            enrolment(CHECKPOINT, ["checkpoint"], context),
        ],
        "next_root": next_root_commitment(NEXT.public),
        **changes,
    }


def opened() -> Keyring:
    """Return the keyring of a fresh ledger."""
    return Keyring.genesis(genesis_data(), ROOT.public, LEDGER)


def writer_entry(key: PrivateKey = OTHER, **changes: object) -> Data:
    """Return the data that enrols *key* as a writer, with *changes*."""
    return {**enrolment(key, WRITER_ROLE, LEDGER), **changes}


def root_rotation(key: PrivateKey = NEXT, **changes: object) -> Data:
    """Return the data of a rotation to the root *key*, with *changes*."""
    return {
        "old": ROOT.public.keyid,
        "new": enrolment(key, ROOT_ROLE, LEDGER),
        "next_root": next_root_commitment(LATER.public),
        **changes,
    }


def refused(
    keyring: Keyring, event_type: str, data: Any, signer: PrivateKey, rule: str
) -> WrongError:
    """Check that *keyring* refuses the event by *rule*, and is as it was before."""
    before = copy.deepcopy(state(keyring))
    with pytest.raises(WrongError) as caught:
        keyring.apply(7, event_type, data, signer.public)
    assert caught.value.rule == f"key/{rule}"
    assert caught.value.seq == 7
    assert caught.value.place.startswith("event 7 ")
    assert state(keyring) == before
    return caught.value


def state(keyring: Keyring) -> tuple[object, ...]:
    """Return everything that a keyring remembers."""
    names = ("_entries", "_next_root", "_roots", "_writers", "publics")
    return tuple(getattr(keyring, name) for name in names)
