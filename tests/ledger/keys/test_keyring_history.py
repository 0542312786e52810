"""The keyring through any history of keys, held against plain intervals."""

from __future__ import annotations

import secrets
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyrings import CHECKPOINT, LEDGER, NEXT, ROOT, WRITER, Data, opened
from muniment.errors import WrongError
from muniment.keys.ed25519 import PrivateKey, PublicKey
from muniment.keys.enrolment import enrolment

POOL = [PrivateKey.from_seed(bytes([100 + number]) * 32) for number in range(4)]
EVERYBODY = [ROOT, WRITER, CHECKPOINT, NEXT, *POOL]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["enrol", "revoke", "rotate"]),
        st.sampled_from(EVERYBODY),
        st.sampled_from(POOL),
        st.sampled_from([ROOT, ROOT, ROOT, WRITER, *POOL]),
        st.sampled_from(["writer", "checkpoint", "approver"]),
    ),
    max_size=12,
)
Step = tuple[str, PrivateKey, PrivateKey, PrivateKey, str]


def step_event(step: Step) -> tuple[str, Data]:
    """Return the event that *step* stands for."""
    what, target, fresh, _, role = step
    if what == "enrol":
        return "key.enrolled", enrolment(fresh, [role], LEDGER)
    if what == "revoke":
        return "key.revoked", {"keyid": target.public.keyid, "reason": ""}
    new = enrolment(fresh, [role], LEDGER)
    return "key.rotated", {"old": target.public.keyid, "new": new}


def expected(intervals: dict[PublicKey, list[Any]], step: Step) -> bool:
    """Tell by the rules, as a reader would, whether *step* is allowed."""
    what, target, fresh, signer, role = step
    held = intervals.get(target.public)
    live = held is not None and held[2] is None and held[0] != "root"
    if signer is not ROOT:
        return False
    if what == "revoke":
        return live
    unknown = fresh.public not in intervals
    return unknown and (
        what == "enrol" or (live and held is not None and held[0] == role)
    )


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_any_history_against_its_intervals(steps: list[Step]) -> None:
    """After any history, every key may sign exactly what its interval says."""
    keyring = opened()
    intervals: dict[PublicKey, list[Any]] = {
        ROOT.public: ["root", 0, None],
        WRITER.public: ["writer", 0, None],
        CHECKPOINT.public: ["checkpoint", 0, None],
    }
    for seq, step in enumerate(steps, 1):
        event_type, data = step_event(step)
        what, target, fresh, signer, role = step
        if expected(intervals, step):
            keyring.apply(seq, event_type, data, signer.public)
            if what != "revoke":
                intervals[fresh.public] = [role, seq, None]
            if what != "enrol":
                intervals[target.public][2] = seq
        else:
            with pytest.raises(WrongError):
                keyring.apply(seq, event_type, data, signer.public)
        for key in EVERYBODY:
            role, _, until = intervals.get(key.public, ["", 0, 0])
            live = until is None
            writes = keyring.may_sign(key.public.raw, "note.added")
            assert writes is (live and role == "writer")
            rules = keyring.may_sign(key.public.raw, "key.revoked")
            assert rules is (key is ROOT)
    for size in range(len(steps) + 2):
        held = {
            public
            for public, (role, since, until) in intervals.items()
            if role == "checkpoint"
            and since < size
            and (until is None or until >= size)
        }
        assert set(keyring.checkpoint_keys_at(size)) == held
    assert len(keyring.entries) == len(keyring.publics) == len(intervals)


def test_a_stranger_may_sign_nothing() -> None:
    """Random bytes are not key of the ledger, whatever the type."""
    keyring = opened()
    for event_type in ("note.added", "key.rotated", "ledger.opened"):
        assert not keyring.may_sign(secrets.token_bytes(32), event_type)
