"""Decisions that somebody made up who holds a writer key, but no approver's."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rfc8785

from attacking import check
from broken_decisions import BREACHES, Asked, envelope_of, honest, said
from forge import RUN, Forge, keyid
from muniment.verification.runs.run_record import RunRecord


def rules(forge: Forge, folder: Path, version: int = 4) -> set[str]:
    """Return the rules that the ledger breaks; a reader of the run finds them, too."""
    folder.mkdir(exist_ok=True)
    place = folder / "l.db"
    place.unlink(missing_ok=True)
    report = check(forge, place)
    found = {finding.rule for finding in report.findings}
    assert (report.exit_code == 1) == bool(found), str(report)
    if version == 4:
        seen = {one for one in of_run(forge) if one.startswith("decision/")}
        own = {one for one in found if one.startswith("decision/")}
        assert seen in (own, own - {"decision/place"}), (found, seen)
    return found


def of_run(forge: Forge) -> set[str]:
    """Return the rules that the run breaks for who reads it and its answers."""
    record = RunRecord(forge.ledger, RUN)
    for row in forge.rows:
        record.add(
            (row.seq, row.type, row.run, row.payload, row.signature, row.key, row.hash)
        )
    return {finding.rule for finding in record.finish()[1]}


def test_what_is_honest_verifies(tmp_path: Path) -> None:
    """A decision that was asked for, given and reached is sound in all that follows."""
    forge = Forge("one").open()
    honest(forge)
    assert rules(forge, tmp_path) == set()


@pytest.mark.parametrize("name", BREACHES)
def test_each_breach_is_called_by_its_name(name: str, tmp_path: Path) -> None:
    """Only the rule that is broken is named, and nothing else is blamed."""
    forge = Forge("one").open()
    _, breaks, rule = BREACHES[name]
    breaks(Asked(forge))
    assert rules(forge, tmp_path) == {rule}


@pytest.mark.parametrize("name", BREACHES)
def test_older_ledgers_have_no_such_rules(name: str, tmp_path: Path) -> None:
    """In ledgers of version 3 such types were anybody's, and are not judged."""
    forge = Forge("one").open(event=3)
    _, breaks, _ = BREACHES[name]
    breaks(Asked(forge))
    assert rules(forge, tmp_path, 3) == set()


# --- each member changed alone ----------------------------------------------------------


OTHER: dict[str, Any] = {
    "ask": "ab" * 32,
    "ledger": "sha256:" + "ab" * 32,
    "meaning": "I have not read it",
    "nonce": "cd" * 16,
    "outcome": "denied",
    "reason": "because",
    "subject": "sha256:" + "ab" * 32,
}
VALUES: list[Any] = [None, True, 7, 1.5, "", "x", [], {}, ["x"], {"x": 1}]


def variants(value: Any) -> Iterator[Any]:
    """Yield other values in the place of *value*."""
    yield from (one for one in VALUES if one != value)
    if isinstance(value, str):
        yield value + "x"
        yield value.upper()
        yield value[::-1]


@pytest.mark.parametrize("member", OTHER)
@pytest.mark.parametrize("resigned", [False, True])
def test_each_member_changed_alone(member: str, resigned: bool, tmp_path: Path) -> None:
    """Whoever changes what an approver signed is found, even by signing it himself."""
    forge = Forge("one").open()
    asked = Asked(forge)
    told = asked.payload()
    ann, eve = forge.key("ann"), forge.key("writer")
    for value in (OTHER[member], *variants(told[member])):
        if value == told[member]:
            continue
        with_it = asked.forge.copy()
        here = copy.copy(asked)
        here.forge = with_it
        payload = rfc8785.dumps(told | {member: value})
        whole = envelope_of(payload, eve if resigned else ann)
        if not resigned:
            own = envelope_of(rfc8785.dumps(told), ann)
            whole["signatures"] = own["signatures"]
        else:
            whole["signatures"][0]["keyid"] = keyid(ann)
        named = value if member == "ask" and isinstance(value, str) else ""
        here.append(whole, named if len(named) == 64 and named.islower() else "")
        found = rules(with_it, tmp_path)
        assert found, (member, value)
        assert all(one.startswith(("decision/", "dsse/")) for one in found), found


def changed_envelopes(whole: dict[str, Any]) -> Iterator[Any]:
    """Yield what is no envelope any more, or another one."""
    for name, value in whole.items():
        yield {one: told for one, told in whole.items() if one != name}
        yield from (whole | {name: one} for one in variants(value))
    yield whole | {"more": 1}
    (signature,) = whole["signatures"]
    yield whole | {"signatures": [signature, signature]}
    for name, value in signature.items():
        yield whole | {"signatures": [{**signature, name: None}]}
        for other in variants(value):
            yield whole | {"signatures": [signature | {name: other}]}
    raw = bytearray(base64.b64decode(signature["sig"]))
    for at in range(0, 64, 9):
        spoilt = bytes([*raw[:at], raw[at] ^ 1, *raw[at + 1 :]])
        sig = base64.b64encode(spoilt).decode()
        yield whole | {"signatures": [signature | {"sig": sig}]}
    yield from VALUES


def test_each_part_of_an_envelope_changed_alone(tmp_path: Path) -> None:
    """No other spelling of an envelope counts, and none makes the verifier fall over."""
    forge = Forge("one").open()
    asked = Asked(forge)
    whole = envelope_of(rfc8785.dumps(asked.payload()), forge.key("ann"))
    for envelope in changed_envelopes(whole):
        here = copy.copy(asked)
        here.forge = forge.copy()
        here.append(envelope)
        found = rules(here.forge, tmp_path)
        expected = ("decision/", "dsse/", "event/data", "canonical/", "value/")
        assert found, envelope
        assert all(one.startswith(expected) for one in found), (found, envelope)


def outcomes(told: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what a run may falsely say that was decided."""
    for name, value in told.items():
        yield {one: other for one, other in told.items() if one != name}
        yield from (told | {name: one} for one in variants(value))
    (given,) = told["answers"]
    for name, value in given.items():
        for other in variants(value):
            yield told | {"answers": [given | {name: other}]}
    yield told | {"answers": [given, given]}
    yield told | {"answers": [given | {"more": 1}]}


def test_each_part_of_an_outcome_changed_alone(tmp_path: Path) -> None:
    """A run says exactly what was decided, by whom and why, or is found out."""
    forge = Forge("one").open()
    asked = Asked(forge)
    given = asked.give()
    told = {
        "asked": asked.row.hash.hex(),
        "outcome": "approved",
        "answers": [said(given)],
    }
    for other in outcomes(told):
        here = forge.copy()
        here.append("decision.reached", other, run=RUN)
        found = rules(here, tmp_path)
        assert found <= {"decision/reached", "event/data"}, (found, other)
        assert "decision/reached" in found, other


def test_questions_of_any_shape(tmp_path: Path) -> None:
    """Whatever is asked, the verifier says so, and judges what follows."""
    forge = Forge("one").open()
    asked = Asked(forge)
    data = json.loads(asked.row.payload)["predicate"]["data"]
    for name, value in data.items():
        for other in variants(value):
            here = forge.copy()
            here.append("decision.asked", data | {name: other}, run=RUN)
            wanted = set[str]() if other in (7, ["x"]) else {"decision/quorum"}
            assert rules(here, tmp_path) >= wanted, (name, other)


def test_what_is_missing_is_not_held_against_others(tmp_path: Path) -> None:
    """Where the question is gone, its answers are not called answers to nothing."""
    forge = Forge("one").open()
    asked = Asked(forge)
    given = asked.give()
    asked.reach("approved", given)
    for seq in (asked.row.seq, given.seq):
        rows = [row for row in forge.rows if row.seq != seq]
        report = check(forge.with_rows(rows), tmp_path / f"{seq}.db")
        found = {one.rule for one in report.findings}
        assert report.exit_code == 1
        assert "decision/ask" not in found
        if seq == asked.row.seq:
            assert not {one for one in found if one.startswith("decision/")}


def test_a_failure_that_is_performed_again(tmp_path: Path) -> None:
    """What was asked after it, and never decided, does not hold the run up."""
    for after in (True, False):
        forge = Forge("one").open()
        asked = Asked(forge)
        asked.reach("approved", asked.give())
        if not after:
            asked.ask()
        requested = forge.append("llm.requested", {}, run=RUN)
        at = json.loads(requested.payload)["predicate"]["muniment"]["ordinal"]
        forge.append("llm.failed", {}, run=RUN, ordinal=at)
        if after:
            asked.ask()
        forge.append("run.interrupted", {"reason": "x"}, run=RUN)
        resumed = {"generation": 1, "supersedes": [["", at]]}
        forge.append("run.resumed", resumed, run=RUN)
        forge.end_run(RUN)
        assert rules(forge, tmp_path) == (set() if after else {"decision/open"})
