"""A proof or note counts only under keys of its ledger that held their role there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from forge import Forge, keyid, make_key
from muniment import errors
from muniment.copies.histories import compare_histories
from muniment.copies.successor import predecessor
from muniment.keys.ed25519 import PublicKey
from muniment.storage.append import Store
from muniment.storage.connections import Database
from muniment.storage.lookup import ledger_id_of
from muniment.storage.prove import check_proof
from muniment.trust.home import TrustHome
from muniment_cli import main

LENGTH = 42
REVOKED = 20


def ledger() -> Forge:
    """Return 42 events; the checkpoint key "late" replaced, "gone" ended at 20."""
    forge = Forge("one").open()
    forge.enrol("gone", ["checkpoint", "writer"])
    while len(forge.rows) < LENGTH:
        if len(forge.rows) == REVOKED:
            data = {"keyid": keyid(forge.key("gone")), "reason": "stolen"}
            forge.append("key.revoked", data, signer=forge.key("root"))
        forge.append("note.added", {"text": str(len(forge.rows))})
    forge.checkpoint()
    return forge


@contextmanager
def opened(file: Path) -> Iterator[Store]:
    """Open a forged file as a store."""
    database = Database.open(file, readonly=True)
    try:
        yield Store(database, ledger_id_of(database), None)
    finally:
        database.dispose()


def invented(length: int) -> Forge:
    """Return another history of the ledger, that ends with an event of a stranger."""
    forge = ledger().with_rows(ledger().rows[:LENGTH])
    while len(forge.rows) < length - 1:
        forge.append("note.added", {"text": "invented"})
    forge.append("note.added", {"text": "never written"}, signer=make_key("stranger"))
    return forge


Attack = Callable[[], str]

ATTACKS: dict[str, tuple[Attack, str]] = {
    "a revoked checkpoint key, index 999 of an invented tree": (
        lambda: invented(1000).proof(999, make_key("one/gone")),
        "checkpoint/interval",
    ),
    "a revoked checkpoint key over the events that are there": (
        lambda: ledger().proof(7, make_key("one/gone")),
        "checkpoint/interval",
    ),
    "the checkpoint key itself over more events than there are": (
        lambda: invented(1000).proof(999),
        "tlog-proof/beyond-ledger",
    ),
    "the checkpoint key itself over a tree of its own": (
        lambda: swapped().proof(30),
        "tlog-proof/root",
    ),
    "an event by a key that was never enrolled": (
        lambda: swapped(signer="stranger").proof(30),
        "key/role",
    ),
    "an event by a writer after its end": (
        lambda: swapped(signer="one/gone").proof(30),
        "key/role",
    ),
    "an event by the checkpoint key": (
        lambda: swapped(signer="one/checkpoint").proof(30),
        "key/role",
    ),
    "an event that says another seq": (
        lambda: swapped(seq=31).proof(30),
        "event/seq",
    ),
    "an event that says another ledger": (
        lambda: swapped(ledger="sha256:" + "0" * 64).proof(30),
        "event/ledger",
    ),
    "a stranger's note": (
        lambda: ledger().proof(7, make_key("stranger")),
        "checkpoint/unsigned",
    ),
}


def swapped(signer: str = "one/writer", **chain: Any) -> Forge:
    """Return 42 events of which number 30 is another one, the later ones signed anew."""
    whole = ledger()
    forge = whole.with_rows(whole.rows[:30])
    statement = forge.statement("note.added", {"text": "another"}, **chain)
    forge.add(statement, make_key(signer))
    while len(forge.rows) < LENGTH:
        forge.append("note.added", {"text": "on"})
    return forge


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Give the file of the ledger, pinned in the home of the test."""
    made = ledger()
    TrustHome().pin(made.ledger, keyid(made.key("root")))
    return made.write(tmp_path / "ledger.db")


@pytest.mark.parametrize("name", ATTACKS)
def test_no_forged_proof_verifies(
    name: str, file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Beside its ledger a proof agrees with it in keys, roles, places and root."""
    attack, rule = ATTACKS[name]
    proof = tmp_path / "event.tlog-proof"
    proof.write_text(attack())
    code = main(["--ledger", str(file), "verify", str(proof)])
    assert code in (1, 3)
    assert code == 3 or rule != "tlog-proof/beyond-ledger"
    assert f"[{rule}]" in capfd.readouterr().err
    assert main(["--ledger", str(file), "verify", str(proof), "--trust-on-first-use"])
    root = keyid(make_key("one/root"))
    assert main(["--ledger", str(file), "verify", str(proof), "--key", root])


def test_an_honest_proof_verifies(file: Path, tmp_path: Path) -> None:
    """With its event or without, of every kind of event, also under an older key."""
    made = ledger()
    proof = tmp_path / "event.tlog-proof"
    for index in (0, 1, 7, REVOKED, LENGTH - 1):
        for bare in (False, True):
            proof.write_text(made.proof(index, bare=bare))
            assert main(["--ledger", str(file), "verify", str(proof)]) == 0, index
    young = made.with_rows(made.rows[:REVOKED])
    proof.write_text(young.proof(3, made.key("gone")))
    assert main(["--ledger", str(file), "verify", str(proof)]) == 0


def test_a_given_key_narrows_down(file: Path) -> None:
    """A key that the ledger has and that did not sign does not count."""
    made = ledger()
    data = made.proof(7).encode()
    with opened(file) as store:
        own = PublicKey(made.key("checkpoint").public_key().public_bytes_raw())
        other = PublicKey(made.key("gone").public_key().public_bytes_raw())
        assert check_proof(store, data, [own]).enrolled
        with pytest.raises(errors.WrongError, match="no known checkpoint key"):
            check_proof(store, data, [other])


def notes() -> dict[str, bytes]:
    """Return notes that no enrolled key signed in its interval."""
    made, longer = ledger(), invented(50)
    return {
        "stranger, within": made.note(30, make_key("stranger")),
        "stranger, beyond": longer.note(signer=make_key("stranger")),
        "revoked, within": made.note(30, made.key("gone")),
        "revoked, beyond": longer.note(signer=made.key("gone")),
        "a writer, beyond": longer.note(signer=made.key("writer")),
        "the mark alone": broken(made.note()),
    }


def broken(note: bytes) -> bytes:
    """Return *note* with another root, under the signature of the first."""
    return note.replace(note.split(b"\n")[2], b"A" * 43 + b"=")


@pytest.mark.parametrize("name", notes())
def test_a_note_that_does_not_count_is_compared_with_nothing(
    name: str, file: Path
) -> None:
    """`compare` refuses a note of a stranger or of a key after its end."""
    with opened(file) as store:
        with pytest.raises((errors.WrongError, errors.CannotTellError)):
            compare_histories(store, notes()[name])
        keyring = store.keyring()
    with pytest.raises((errors.WrongError, errors.CannotTellError)):
        compare_histories(notes()[name], notes()[name], keyring)
    with pytest.raises(errors.CannotTellError, match="which keys may sign"):
        compare_histories(ledger().note(), ledger().note())


@pytest.mark.parametrize("name", notes())
def test_a_successor_quotes_no_such_note(name: str, file: Path) -> None:
    """`init --continues` passes over the notes of strangers in the trust home."""
    home = TrustHome()
    made = ledger()
    home.anchor(made.ledger, notes()[name])
    quoted = predecessor(str(file), "moved", home)["checkpoint"]
    assert quoted == made.note().decode()
    with pytest.raises(errors.CannotTellError, match="one of its keys signed"):
        predecessor(made.ledger, "gone", home)
