"""Two histories of one ledger: agreement with proof, forks with signed roots."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muniment.copies.backup import copy_ledger
from muniment.copies.histories import Comparison, compare_histories
from muniment.errors import CannotTellError, WrongError
from muniment.formats.checkpoint import Note
from muniment.formats.merkle import verify_consistency
from muniment.ledger import Ledger
from muniment.trust.home import TrustHome


def note_of(ledger: Ledger) -> bytes:
    """Return the newest checkpoint of *ledger*."""
    note = ledger.checkpoint()
    assert note is not None
    return note


def grow(ledger: Ledger, number: int, text: str) -> None:
    """Append *number* events in one commit."""
    ledger.append_many([("note.added", {"text": f"{text} {i}"}) for i in range(number)])


def copied(ledger: Ledger, to: Path) -> Ledger:
    """Return a copy of file and home, in which another story can be told."""
    copy_ledger(ledger.path, to / "ledger.db")
    shutil.copytree(ledger.home.path, to / "home")
    return Ledger.open(to / "ledger.db", home=TrustHome(to / "home"))


def check_fork(found: Comparison, ledger: Ledger) -> None:
    """Check the evidence as an outsider would: with the public keys alone."""
    keys = ledger.store.keyring().current("checkpoint")
    assert found.verdict == "fork"
    for side in (found.older, found.newer):
        assert side.note is not None
        assert Note.parse(side.note).verify(side.origin, keys) is not None
    older, newer = found.older, found.newer
    if older.size == newer.size:
        assert older.root != newer.root
    else:
        assert found.root_at is not None
        assert found.root_at != older.root
        sizes, roots = (older.size, newer.size), (found.root_at, newer.root)
        assert verify_consistency(*sizes, *roots, list(found.proof))


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(common=st.integers(0, 30), own=st.integers(1, 30), other=st.integers(1, 300))
def test_every_fork_is_shown(
    tmp_path_factory: pytest.TempPathFactory, common: int, own: int, other: int
) -> None:
    """Whatever the sizes, both signed roots and the first differing event are given."""
    place = tmp_path_factory.mktemp("fork")
    with Ledger.create(place / "ledger.db", home=place / "first") as ledger:
        grow(ledger, common, "common")
        with copied(ledger, place / "copy") as twin:
            grow(ledger, own, "one story")
            grow(twin, other, "another")
            note_of(ledger)
            note_of(twin)
            found = compare_histories(ledger.store, twin.store)
            assert found.first_difference == 1 + common
            check_fork(found, ledger)
            assert compare_histories(twin.store, ledger.store).verdict == "fork"


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(before=st.integers(0, 20), more=st.integers(0, 300))
def test_every_prefix_is_proved(
    tmp_path_factory: pytest.TempPathFactory, before: int, more: int
) -> None:
    """A copy that is behind agrees, and the proof convinces an outsider."""
    place = tmp_path_factory.mktemp("prefix")
    with Ledger.create(place / "ledger.db", home=place / "first") as ledger:
        grow(ledger, before, "common")
        note = note_of(ledger)
        with copied(ledger, place / "copy") as twin:
            grow(ledger, more, "more")
            for side in (twin.store, note):
                found = compare_histories(ledger.store, side)
                assert found.verdict == ("consistent" if more else "same")
                older, newer = found.older, found.newer
                assert (older.size, newer.size) == (before + 1, before + 1 + more)
                assert verify_consistency(
                    older.size, newer.size, older.root, newer.root, list(found.proof)
                )


def test_unsigned_sides_say_so(ledger: Ledger, tmp_path: Path) -> None:
    """Where a side signed nothing beyond the fork, it has no note and no signer."""
    with copied(ledger, tmp_path / "copy") as twin:
        grow(ledger, 1, "one story")
        grow(twin, 1, "another")
        found = compare_histories(ledger.store, twin.store)
        assert found.verdict == "fork"
        assert (found.older.note, found.newer.signer) == (None, None)


def test_a_ledger_behind_a_note_cannot_tell(ledger: Ledger, tmp_path: Path) -> None:
    """A note over more events than the ledger has cannot be judged by it."""
    with copied(ledger, tmp_path / "copy") as twin:
        grow(ledger, 3, "more")
        note = note_of(ledger)
        with pytest.raises(CannotTellError, match="only a note speaks for 4 events"):
            compare_histories(twin.store, note)


def test_a_note_that_nobody_signed_is_no_side(ledger: Ledger) -> None:
    """A note with a broken signature raises; it accuses nobody."""
    note = note_of(ledger)
    broken = note.replace(note.split(b"\n")[2], b"A" * 43 + b"=")
    with pytest.raises(WrongError, match="signature"):
        compare_histories(ledger.store, broken)
