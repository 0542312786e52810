"""Whoever may write to the ledger cannot have it give out what the record does not say."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attested import lines, verdicts
from muniment.encoding.canonical import canonical
from muniment.errors import CannotTellError, KeyRefused, UsageError, WrongError
from muniment.formats.dsse import Envelope, decode_base64, sign_payload
from muniment.formats.statement import PREDICATES
from muniment.keys.ed25519 import PrivateKey
from muniment.ledger import Ledger
from muniment_plugins.evidence import Attestation, attest

ATTESTED = "attestation.issued"
TESTS = "https://in-toto.io/attestation/test-result/v0.1"
Statement = dict[str, Any]


def issued(ledger: Ledger) -> tuple[str, Attestation]:
    """Return a run that failed, and what was signed about it."""
    run = ledger.execute(verdicts(True, False)).run_id
    (one,) = attest(ledger, run, ["test-result"])
    assert one.result == "FAILED"
    return run, one


def passed(told: Statement) -> None:
    """Say that all of it passed."""
    told["predicate"] |= {"result": "PASSED", "failedTests": []}


def on_another_file(told: Statement) -> None:
    """Say it of another program."""
    told["subject"][0]["digest"]["sha256"] = "0" * 64


def without_undecided(told: Statement) -> None:
    """Leave a member out."""
    del told["predicate"]["muniment"]["undecided"]


def with_more_coverage(told: Statement) -> None:
    """Claim to have a place for every event."""
    told["predicate"]["muniment"]["coverage"] = "9 of 9 events; without a place: none"


def of_earlier(told: Statement) -> None:
    """Claim another leaf."""
    told["predicate"]["muniment"]["last"]["leaf"] = "0" * 64


def as_svr(told: Statement) -> None:
    """Say it in another predicate."""
    told["predicateType"] = "https://in-toto.io/attestation/svr/v0.2"


def in_words_of_its_own(told: Statement) -> None:
    """Add what the record does not say."""
    told["predicate"]["url"] = "https://example.org/all-is-well"


LIES: list[Callable[[Statement], None]] = [
    passed,
    on_another_file,
    without_undecided,
    with_more_coverage,
    of_earlier,
    as_svr,
    in_words_of_its_own,
]


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_that_the_ledger_signed(
    ledger: Ledger, lie: Callable[[Statement], None]
) -> None:
    """A program that may write can have anything signed; it is not given out."""
    run, honest = issued(ledger)
    told = json.loads(json.dumps(honest.statement))
    lie(told)
    about = [
        (one["name"], f"sha256:{one['digest']['sha256']}") for one in told["subject"]
    ]
    seq = ledger.append_statement(
        ATTESTED, told["predicateType"], told["predicate"], about
    ).seq
    with pytest.raises(WrongError) as raised:
        ledger.export(run, "in-toto")
    assert raised.value.rule == "attestation/differs"
    assert raised.value.seq == seq
    with pytest.raises(WrongError):
        attest(ledger, run, ["test-result"])


def test_a_statement_that_nobody_signed(ledger: Ledger) -> None:
    """Another key, another signature, another subject of the event."""
    run, honest = issued(ledger)
    stranger = sign_payload(honest.envelope.payload, PrivateKey.generate())
    data: dict[str, Any] = dict(honest.event.raw)
    signature = b64encode(stranger.signature).decode()
    changes: list[tuple[dict[str, str], list[tuple[str, str]]]] = [
        ({"signature": signature}, honest.subjects),
        ({"signature": signature, "keyid": stranger.keyid}, honest.subjects),
        ({"keyid": stranger.keyid}, honest.subjects),
        ({}, honest.subjects[:1]),
        ({}, []),
    ]
    for changed, about in changes:
        one = Attestation.of(ledger.append(ATTESTED, data | changed, subject=about))
        with pytest.raises(WrongError):
            one.require_true(ledger)
    with pytest.raises(WrongError):
        ledger.export(run, "in-toto")


def test_what_holds_no_statement_is_about_no_run(ledger: Ledger) -> None:
    """Other data under the type is read by nobody, and hides nothing."""
    run, honest = issued(ledger)
    written = ledger.export(run, "in-toto")
    data: dict[str, Any] = dict(honest.event.raw)
    changes: list[dict[str, Any]] = [
        {"statement": {}},
        {"statement": {"predicate": {"muniment": {"run": run}}}},
        {"statement": {**honest.statement, "predicateType": "urn:x"}},
        {"signature": "!"},
    ]
    for changed in changes:
        ledger.append(ATTESTED, data | changed)
    assert ledger.export(run, "in-toto") == written


def test_of_another_run_or_ledger(ledger: Ledger, tmp_path: Any) -> None:
    """A statement names both; where it was put does not matter."""
    _, honest = issued(ledger)
    with Ledger.create(
        tmp_path / "other.db", home=tmp_path / "home", plugins=ledger.plugins
    ) as other:
        twin = other.execute(verdicts(True, False)).run_id
        other.append(ATTESTED, honest.event.raw, subject=honest.subjects)
        with pytest.raises(CannotTellError):
            other.export(twin, "in-toto")


def test_what_a_ledger_does_not_sign(ledger: Ledger) -> None:
    """No other predicate, nothing about nothing, and nothing that looks like an event."""
    size = ledger.head.size
    about = [("a", "sha256:" + "0" * 64)]
    for kind, subject in (
        ("urn:muniment:event:note.added:v1", about),
        ("https://example.org/anything/v1", about),
        (TESTS, []),
    ):
        with pytest.raises(UsageError) as raised:
            ledger.append_statement(ATTESTED, kind, {}, subject)
        assert raised.value.rule == "attestation/statement"
    ledger.close()
    with Ledger.open(
        ledger.path, home=ledger.home, plugins=ledger.plugins, readonly=True
    ) as reader:
        with pytest.raises(KeyRefused) as none:
            reader.append_statement(ATTESTED, TESTS, {}, about)
        assert none.value.rule == "attestation/no-key"
        assert reader.head.size == size


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text().filter(lambda one: one[:1] != "$"), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.sampled_from(sorted(PREDICATES)),
    st.dictionaries(st.text().filter(lambda one: one[:1] != "$"), JSON, max_size=4),
)
def test_what_is_recorded_leads_back_to_what_was_signed(
    ledger: Ledger, kind: str, predicate: dict[str, Any]
) -> None:
    """Whatever a predicate says, the event gives the bytes under the signature again."""
    about = [("é", "sha256:" + "a" * 64)]
    event = ledger.append_statement(ATTESTED, kind, predicate, about)
    again = ledger.event(event.seq).raw
    signature = decode_base64(str(again["signature"]))
    assert signature is not None
    envelope = Envelope(canonical(again["statement"]), str(again["keyid"]), signature)
    (writer,) = ledger.keys.current("writer")
    assert envelope.verify(writer)
    told = json.loads(envelope.payload)
    own = told["predicate"].pop("muniment")
    assert own["ledger"] == ledger.id
    assert told["predicate"] == {n: v for n, v in predicate.items() if n != "muniment"}
    assert told["subject"] == [{"digest": {"sha256": "a" * 64}, "name": "é"}]


def test_the_lines_are_envelopes(ledger: Ledger) -> None:
    """Each is canonical, and has one signature."""
    run, honest = issued(ledger)
    (line,) = lines(ledger, run)
    assert canonical(line) == honest.envelope.to_json()
    assert Envelope.from_json(canonical(line)) == honest.envelope
