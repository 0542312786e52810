"""Answers that do not count are refused, by a rule and with a remedy, and recorded."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pluggy
import pytest

from attacking import tampering
from deciding import answer, approver, asks, enrol, key, revoke, signed
from muniment.errors import AppendRefused, MunimentError, RefusedError, WrongError
from muniment.formats.dsse import encode_base64
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.runs.run import Run
from muniment.verification.verify import verify

hookimpl = pluggy.HookimplMarker("muniment")


def twice(run: Run) -> object:
    """Ask for two approvals."""
    return asks(run, 2)


def forged(ledger: Ledger, _: Path) -> bytes:
    """Say the contrary of what was signed."""
    (pending,) = ledger.pending()
    told = json.loads(signed(pending, key("ann")))
    payload = pending.sign(key("eve"), "denied")
    told["payload"] = json.loads(payload)["payload"]
    return json.dumps(told, sort_keys=True, separators=(",", ":")).encode()


def spoilt(ledger: Ledger, _: Path) -> bytes:
    """Make a signature up."""
    (pending,) = ledger.pending()
    told = json.loads(signed(pending, key("ann")))
    told["signatures"][0]["sig"] = encode_base64(b"\1" * 64)
    return json.dumps(told, sort_keys=True, separators=(",", ":")).encode()


def elsewhere(_: Ledger, folder: Path) -> bytes:
    """Take an answer of the same approver in another ledger."""
    with Ledger.create(folder / "other" / "l.db", plugins=()) as other:
        approver(other, "ann")
        other.execute(twice)
        (pending,) = other.pending()
        return signed(pending, key("ann"))


def before(ledger: Ledger, _: Path) -> bytes:
    """Take the answer to what was asked before, and is canceled."""
    run = str(next(ledger.events(type="run.started")).run)
    (pending,) = ledger.pending()
    old = signed(pending, key("ann"))
    ledger.cancel(run)
    ledger.execute(twice)
    return old


def unknown(ledger: Ledger, _: Path) -> bytes:
    """Sign with a key that nobody enrolled."""
    (pending,) = ledger.pending()
    return signed(pending, key("eve"))


def writer(ledger: Ledger, _: Path) -> bytes:
    """Sign with the key of a writer."""
    (pending,) = ledger.pending()
    return signed(pending, enrol(ledger, "wil", "writer"))


def gone(ledger: Ledger, _: Path) -> bytes:
    """Sign with a key that ended."""
    (pending,) = ledger.pending()
    revoke(ledger, key("ann"))
    return signed(pending, key("ann"))


def again(ledger: Ledger, _: Path) -> bytes:
    """Offer the same bytes twice."""
    (pending,) = ledger.pending()
    once = signed(pending, key("ann"))
    ledger.answer(once)
    return once


def anew(ledger: Ledger, _: Path) -> bytes:
    """Answer once more, with another nonce and the contrary."""
    (pending,) = ledger.pending()
    ledger.answer(signed(pending, key("ann")))
    return signed(pending, key("ann"), "denied")


Attack = Callable[[Ledger, Path], bytes]
ATTACKS: dict[str, tuple[Attack, str]] = {
    "forged": (forged, "decision/signature"),
    "spoilt": (spoilt, "decision/signature"),
    "of another ledger": (elsewhere, "decision/ledger"),
    "of another question": (before, "decision/closed"),
    "by a stranger": (unknown, "decision/key"),
    "by a writer": (writer, "decision/key"),
    "by a key that ended": (gone, "decision/key"),
    "the same again": (again, "decision/repeated"),
    "another by the same key": (anew, "decision/repeated"),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_answer_that_does_not_count_is_refused(
    name: str, ledger: Ledger, tmp_path: Path
) -> None:
    """Nothing is decided by it; that it was offered is recorded, once."""
    approver(ledger, "ann")
    ledger.execute(twice)
    attack, rule = ATTACKS[name]
    offered = attack(ledger, tmp_path)
    pending, size = ledger.pending(), ledger.head.size
    for _ in range(2):
        with pytest.raises(RefusedError) as caught:
            ledger.answer(offered)
        assert (caught.value.rule, bool(caught.value.remedy)) == (rule, True)
        assert ledger.pending() == pending
        assert ledger.head.size == size + 1
    event = ledger.event(size)
    tag = "sha256:" + hashlib.sha256(offered).hexdigest()
    assert (event.type, event.run) == ("decision.refused", None)
    assert (event.raw["rule"], event.raw["envelope"]) == (rule, tag)
    assert ("asked" in event.raw) == (name != "of another ledger")
    assert verify(ledger.path, home=ledger.home).ok


@pytest.mark.parametrize(
    "offered", [b"", b"{}", b"[1]", b"\xff", b"not JSON", b"{" * 2000]
)
def test_what_is_no_answer_leaves_no_trace(ledger: Ledger, offered: bytes) -> None:
    """It is refused, and nothing is recorded: somebody took the wrong file."""
    size = ledger.head.size
    with pytest.raises(RefusedError):
        ledger.answer(offered)
    assert ledger.head.size == size


def test_an_envelope_of_an_event_is_no_answer(ledger: Ledger) -> None:
    """What an approver signs is of a type of its own, and so is what a writer does."""
    from muniment.formats.dsse import sign_payload  # noqa: PLC0415 - of this test alone

    mine = approver(ledger, "ann")
    ledger.execute(twice)
    (pending,) = ledger.pending()
    payload = json.loads(signed(pending, mine))["payload"]
    envelope = sign_payload(payload.encode(), mine).to_json()
    with pytest.raises(RefusedError, match="the payload type is not"):
        ledger.answer(envelope)


class Gate:
    """A plugin that lets no decision in."""

    @hookimpl
    def before_append(self, event_type: str, data: Mapping[str, object]) -> str | None:
        """Refuse answers."""
        del data
        return "not today" if event_type == "decision.given" else None


def test_a_plugin_may_refuse_an_answer(tmp_path: Path) -> None:
    """Gates are asked of answers as of all that is appended."""
    plugins = Plugins([], {"gate": Gate()})
    with Ledger.create(tmp_path / "l.db", plugins=plugins) as ledger:
        mine = approver(ledger, "ann")
        ledger.execute(asks)
        size = ledger.head.size
        with pytest.raises(AppendRefused, match="not today"):
            answer(ledger, mine)
        assert (ledger.head.size, len(ledger.pending())) == (size, 1)


def test_a_reader_appends_no_answer(ledger: Ledger) -> None:
    """Who has no writer's key lists and signs, and can append nothing."""
    mine = approver(ledger, "ann")
    ledger.execute(asks)
    with Ledger.open(ledger.path, readonly=True, plugins=()) as reader:
        (pending,) = reader.pending()
        made = signed(pending, mine)
        with pytest.raises(MunimentError):
            reader.answer(made)
    assert ledger.answer(made).type == "decision.given"


def test_a_copy_shows_what_is_signed(ledger: Ledger, tmp_path: Path) -> None:
    """A copy that shows another prompt under the same hash is not signed from."""
    approver(ledger, "ann")
    ledger.execute(asks)
    ledger.checkpoint()
    place = tmp_path / "copy.db"
    with closing(sqlite3.connect(ledger.path)) as source:
        source.execute("VACUUM INTO ?", (str(place),))
    with tampering(place) as copy:
        (payload,) = copy.execute(
            "SELECT payload FROM event WHERE type = 'decision.asked'"
        ).fetchone()
        changed: Any = payload.replace(b'"quorum":1', b'"quorum":2')
        copy.execute(
            "UPDATE event SET payload = ? WHERE type = 'decision.asked'", (changed,)
        )
    with (
        Ledger.open(place, readonly=True, home=tmp_path / "ann", plugins=()) as reader,
        pytest.raises(WrongError, match="the hash is not that of payload"),
    ):
        reader.pending()
