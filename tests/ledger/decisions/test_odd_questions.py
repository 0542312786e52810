"""What nobody can be asked, and what is no answer, is named by a rule, not by Python."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from attacking import tampering
from deciding import approver, asks, key
from muniment.errors import UsageError, WrongError
from muniment.formats.dsse import entry_hash, pae, spki_base64
from muniment.keys.ed25519 import PublicKey
from muniment.ledger import Ledger
from muniment.runs.run import Run

ODD: list[Any] = [None, 5, 1.5, object(), ["x"], {"a": 1}]
CALLS: list[Callable[[Run], object]] = [
    *(lambda run, of=of: run.decide("x", of=of) for of in (None, 5, [None])),
    *(lambda run, text=text: run.decide("x", prompt=text) for text in (None, 5)),
    *(lambda run, n=n: run.decide("x", quorum=n) for n in (None, 10**5000, "1", 17)),
    lambda run: run.decide("x", of=[f"SHA256:{n:043}" for n in range(17)]),
    *(lambda run, n=n: run.sleep(n) for n in (10**400, 10**5000, -1, None, "1")),
]


@pytest.mark.parametrize("call", CALLS)
def test_a_run_is_told_by_a_rule(ledger: Ledger, call: Callable[[Run], object]) -> None:
    """Nothing is asked, and the error has a remedy that can be followed."""

    def main(run: Run) -> str:
        with pytest.raises(UsageError) as caught:
            call(run)
        assert caught.value.remedy
        assert "1 to 17" not in str(caught.value)
        return caught.value.rule

    done = ledger.execute(main)
    assert done.status == "completed"
    assert cast("str", done.result).split("/")[0] in ("decision", "timer")
    assert not [*ledger.events(type="decision.asked")]


@pytest.mark.parametrize("offered", [*ODD, "text"])
def test_an_answer_is_bytes(ledger: Ledger, offered: Any) -> None:
    """Whatever else is offered is a usage error."""
    with pytest.raises(UsageError, match="an answer is bytes"):
        ledger.answer(offered)


@pytest.mark.parametrize("text", ODD)
def test_a_reason_is_a_text(ledger: Ledger, text: Any) -> None:
    """So is a meaning."""
    mine = approver(ledger, "ann")
    ledger.execute(asks)
    (pending,) = ledger.pending()
    for name in ("reason", "meaning"):
        with pytest.raises(UsageError, match="is not a text"):
            pending.sign(mine, "approved", **{name: text})


@pytest.mark.parametrize("stranger", [True, False])
def test_a_copy_asks_what_a_writer_signed(
    ledger: Ledger, tmp_path: Path, *, stranger: bool
) -> None:
    """Neither by a key that is not enrolled, nor with a signature of other bytes."""
    approver(ledger, "ann")
    ledger.execute(asks)
    ledger.checkpoint()
    place = tmp_path / "copy.db"
    with closing(sqlite3.connect(ledger.path)) as source:
        source.execute("VACUUM INTO ?", (str(place),))
    with tampering(place) as copy:
        payload, signature, public = copy.execute(
            "SELECT payload, signature, key FROM event WHERE type = 'decision.asked'"
        ).fetchone()
        payload = payload.replace(b'"quorum":1', b'"quorum":2')
        if stranger:
            eve = key("eve")
            signature, public = eve.sign(pae(payload)), eve.public.raw
        leaf = entry_hash(payload, signature, spki_base64(PublicKey(public)))
        copy.execute(
            "UPDATE event SET payload = ?, signature = ?, key = ?, hash = ? "
            "WHERE type = 'decision.asked'",
            (payload, signature, public, leaf),
        )
    with (
        Ledger.open(place, readonly=True, home=tmp_path / "ann", plugins=()) as reader,
        pytest.raises(WrongError, match="not signed by a writer"),
    ):
        reader.pending()
