"""Contents go only where a signed event names them: a list alone destroys nothing."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path

import pytest

from forge import Forge, make_key, pae, raw
from muniment.formats.statement import Event
from muniment.ledger import Ledger
from muniment.trust.home import TrustHome
from muniment.verification.verify import verify

SECRETS = [f"the secret number {number} " * 10 for number in range(4)]


def ref_in(event: Event) -> str:
    """Return the commitment that a note refers to."""
    details = event.raw["details"]
    assert isinstance(details, dict)
    return str(details["$blob"])


@pytest.fixture
def refs(ledger: Ledger) -> list[str]:
    """Write contents; return their commitments."""
    found: list[str] = []
    for text in SECRETS:
        event = ledger.append("note.added", {"text": "x", "details": text})
        found.append(ref_in(event))
    ledger.close()
    return found


def left(path: Path) -> int:
    """Open the ledger for writing; return how many contents can still be read."""
    with Ledger.open(path) as ledger:
        events = list(ledger.events(type="note.added"))
        number = 0
        for event in events:
            ref = ref_in(event)
            with ledger.store.database.reading() as driver:
                number += ledger.store.blobs.holds(driver.execute, ref)
        return number


def order(
    ledger: str, refs: list[str], key: str, kind: str = "blob.erased"
) -> dict[str, str]:
    """Return an event that somebody signed, in the form that the home keeps."""
    forge = Forge(key, ledger=ledger, rows=[])
    forge.open()
    forge.ledger = ledger
    statement = forge.statement(kind, {"blobs": refs, "reason": "because"})
    payload = json.dumps(statement, sort_keys=True, separators=(",", ":")).encode()
    signer = make_key(key)
    parts = {"payload": payload, "signature": signer.sign(pae(payload))}
    parts["key"] = raw(signer)
    return {name: base64.b64encode(part).decode() for name, part in parts.items()}


ORDERS = ["none", "a stranger's", "nonsense", "not an object", "another kind", "cut"]


@pytest.mark.parametrize("kind", ORDERS)
def test_a_list_destroys_nothing(kind: str, ledger: Ledger, refs: list[str]) -> None:
    """`erased.jsonl` that names every content, under no order that counts, is nothing."""
    event = order(ledger.id, refs, "stranger")
    forged: object = {
        "none": None,
        "a stranger's": event,
        "nonsense": {"payload": "e30=", "signature": "", "key": ""},
        "not an object": ["payload"],
        "another kind": order(ledger.id, refs, "stranger", "note.added"),
        "cut": {"payload": event["payload"]},
    }[kind]
    TrustHome().record_erasure(ledger.id, refs, "destroy", forged)  # type: ignore[arg-type]
    assert left(ledger.path) == len(SECRETS)
    report = verify(ledger.path)
    assert (report.ok, report.erased) == (True, 0)


def test_an_unsigned_row_orders_nothing(ledger: Ledger, refs: list[str]) -> None:
    """An event that somebody put into the file without a key destroys nothing either."""
    from attacking import tampering  # noqa: PLC0415

    TrustHome().record_erasure(ledger.id, refs, "destroy")
    forged = order(ledger.id, refs, "stranger")
    parts = {name: base64.b64decode(part) for name, part in forged.items()}
    with tampering(ledger.path) as connection:
        (last,) = connection.execute("SELECT max(seq) FROM event").fetchone()
        connection.execute(
            "UPDATE event SET type = 'blob.erased', payload = ?, signature = ?, key = ? "
            "WHERE seq = ?",
            (parts["payload"], parts["signature"], parts["key"], last - 1),
        )
    with Ledger.open(ledger.path) as again, again.store.database.reading() as driver:
        held = [again.store.blobs.holds(driver.execute, ref) for ref in refs]
    assert held == [True] * len(refs)


def test_a_restored_copy_loses_what_was_erased(
    ledger: Ledger, refs: list[str], tmp_path: Path
) -> None:
    """The order that the home keeps is signed, so a copy from before it obeys."""
    before = tmp_path / "before.db"
    shutil.copy(ledger.path, before)
    with Ledger.open(ledger.path) as again:
        again.erase(refs[1], reason="asked to")
        again.erase(refs[3], reason="asked to")
    assert left(before) == len(SECRETS) - 2
    assert left(ledger.path) == len(SECRETS) - 2
    assert verify(ledger.path).ok


def test_a_list_of_the_first_edition(
    ledger: Ledger, refs: list[str], tmp_path: Path
) -> None:
    """Its lines have no event: what the log names goes again, and nothing else."""
    copy = tmp_path / "copy.db"
    home = TrustHome()
    with Ledger.open(ledger.path) as again:
        again.erase(refs[0], reason="asked to")
    lines = home.path / "ledgers" / ledger.id[7:] / "erased.jsonl"
    old = [json.loads(line) for line in lines.read_text().splitlines()]
    for line in old:
        del line["event"]
    lines.write_text("".join(json.dumps(line) + "\n" for line in old))
    home.record_erasure(ledger.id, [refs[2]], "never ordered")
    shutil.copy(ledger.path, copy)
    assert left(ledger.path) == len(SECRETS) - 1
    assert left(copy) == len(SECRETS) - 1
