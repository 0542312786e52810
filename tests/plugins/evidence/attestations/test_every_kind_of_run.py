"""Every kind of run gives true statements, or a refusal that says what to do."""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pytest

from attested import CODE, predicates, verdicts
from bundled import evidence_plugins
from deciding import root_of
from muniment import Run, key_management, verify
from muniment.errors import (
    CannotTellError,
    EffectFailed,
    MunimentError,
    RefusedError,
    UsageError,
)
from muniment.keys.ed25519 import PrivateKey
from muniment.ledger import Ledger
from muniment_plugins.evidence import attest, open_bundle, write_bundle

TESTS = "test-result"


def refused(ledger: Ledger, run: str, kind: str) -> MunimentError:
    """Return how a statement is refused; nothing is appended by that."""
    size = ledger.head.size
    with pytest.raises(MunimentError) as raised:
        attest(ledger, run, [kind])
    assert ledger.head.size == size
    assert raised.value.place
    assert raised.value.remedy
    return raised.value


def test_a_run_whose_verdicts_passed(ledger: Ledger) -> None:
    """It is PASSED; the subjects are the program as a file, and the end of the run."""
    run = ledger.execute(verdicts(True, True)).run_id
    tested, simple, built = attest(ledger, run, [TESTS, "svr", "slsa"])
    end = list(ledger.events(run=run))[-1]
    told = predicates(ledger, run)
    assert tested.result == "PASSED"
    about = {
        one["name"]: one["digest"]["sha256"] for one in told["test-result"]["subject"]
    }
    assert about == {
        "event-4/code": sha256(CODE.encode()).hexdigest(),
        f"run-{run}/event-{end.seq}.json": sha256(end.payload).hexdigest(),
    }
    result = told["test-result"]["predicate"]
    assert result["passedTests"] == ["h0", "h1"]
    assert result["configuration"] == [{"name": "v", "digest": {"sha256": "7" * 64}}]
    assert told["svr"]["predicate"]["properties"] == [
        "MUNIMENT_RECORD_VERIFIED",
        "MUNIMENT_RECORD_WHOLE",
        "MUNIMENT_RUN_COMPLETED",
        "MUNIMENT_VERDICTS_PASSED",
    ]
    assert simple.subjects == [tested.subjects[1]]
    assert built.subjects == [tested.subjects[0]]
    build = told["provenance"]["predicate"]
    assert build["runDetails"]["builder"]["id"] == f"urn:muniment:ledger:{ledger.id}"
    parameters = build["buildDefinition"]["externalParameters"]
    assert parameters["origins"] == {"event-4/code": "llm"}


def test_each_says_for_how_many_events_it_has_a_place(ledger: Ledger) -> None:
    """It is inside of what is signed, and so are ledger, run and the last event."""
    run = ledger.execute(verdicts(True)).run_id
    attest(ledger, run, [TESTS, "svr", "slsa"])
    events = {one.seq: one for one in ledger.events(run=run)}
    told = predicates(ledger, run)
    assert len(told) == 3
    for one in told.values():
        own = one["predicate"]["muniment"]
        places = len(own["events"])
        assert own["coverage"].startswith(f"{places} of {len(events)} events; without")
        assert (
            sum(
                int(part.split()[0])
                for part in own["coverage"].split(": ")[1].split(", ")
            )
            == len(events) - places
        )
        assert set(own["events"]) <= events.keys()
        assert (own["ledger"], own["run"]) == (ledger.id, run)
        assert own["last"]["leaf"] == events[own["last"]["seq"]].hash


@pytest.mark.parametrize(
    ("said", "integrity", "result"),
    [
        ([True, False], None, "FAILED"),
        ([False], None, "FAILED"),
        ([True, None], None, "FAILED"),
        ([None], None, "FAILED"),
        ([True], "valid", "PASSED"),
        ([True], "changed_claim", "WARNED"),
        ([False], "changed_claim", "FAILED"),
    ],
)
def test_what_is_not_shown_did_not_pass(
    ledger: Ledger, said: list[bool | None], integrity: str | None, result: str
) -> None:
    """Failed is FAILED, undecided did not pass, and moved goalposts are a warning."""
    run = ledger.execute(verdicts(*said, integrity=integrity)).run_id
    tested, simple = attest(ledger, run, [TESTS, "svr"])
    assert tested.result == result
    assert ("MUNIMENT_VERDICTS_PASSED" in simple.result) == (result == "PASSED")
    told = predicates(ledger, run)["test-result"]["predicate"]
    open_ = [f"h{number}" for number, one in enumerate(said) if one is None]
    assert told["muniment"]["undecided"] == open_
    assert not {*open_} & {*told["passedTests"], *told["warnedTests"]}
    assert not {*open_} & {*told["failedTests"]}


def test_a_run_that_failed(ledger: Ledger) -> None:
    """Its verdict passed, and it did not; no property says that it completed."""
    run = ledger.execute(verdicts(True, ends=False)).run_id
    tested, simple = attest(ledger, run, [TESTS, "svr"])
    assert tested.result == "FAILED"
    assert simple.result == "MUNIMENT_RECORD_VERIFIED, MUNIMENT_RECORD_WHOLE"
    assert predicates(ledger, run)["svr"]["predicate"]["muniment"]["status"] == "failed"


def test_a_run_that_was_interrupted(ledger: Ledger) -> None:
    """Only that its record verifies is said; verdicts may follow."""
    with suppress(KeyboardInterrupt), ledger.run("stopped") as run:
        run.record(
            "verdict.reached", {"hypothesis": "h", "verifier": "v", "passed": True}
        )
        raise KeyboardInterrupt
    (simple,) = attest(ledger, run.id, ["svr"])
    assert simple.result == "MUNIMENT_RECORD_VERIFIED"
    assert refused(ledger, run.id, TESTS).rule == "attestation/open-run"


def test_a_run_that_is_open(ledger: Ledger) -> None:
    """As it is while it writes; once it went on, what was said is not given out."""
    with ledger.run("writing") as run:
        run.record("note.added", {"text": "so far"})
        (simple,) = attest(ledger, run.id, ["svr"])
        assert simple.result == "MUNIMENT_RECORD_VERIFIED"
        assert refused(ledger, run.id, TESTS).rule == "attestation/open-run"
        assert len(ledger.export(run.id, "in-toto").splitlines()) == 1
    with pytest.raises(CannotTellError) as raised:
        ledger.export(run.id, "in-toto")
    assert raised.value.rule == "attestation/none"


def resumed(ledger: Ledger, before: bool | None, after: bool | None) -> str:
    """Return a run whose effect failed after a verdict on b, and was performed again."""
    tries: list[object] = []

    def flaky(request: object) -> object:
        tries.append(request)
        if len(tries) == 1:
            raise OSError("not yet")
        return 3

    def judge(run: Run, name: str, passed: bool | None) -> None:
        if passed is not None:
            told = {"hypothesis": name, "verifier": "v", "passed": passed}
            run.record("verdict.reached", told)

    def program(run: Run) -> str:
        judge(run, "a", passed=True)
        try:
            run.effect("tool", {"name": "t"}, flaky)
        except EffectFailed:
            judge(run, "b", before)
            raise
        judge(run, "b", after)
        return "done"

    run = ledger.execute(program).run_id
    (first,) = attest(ledger, run, [TESTS])
    assert first.result == "FAILED"
    assert ledger.resume(run, program).ok
    return run


@pytest.mark.parametrize(
    ("before", "after", "result", "place"),
    [
        (True, True, "PASSED", "passedTests"),
        (False, True, "WARNED", "warnedTests"),
        (True, False, "FAILED", "failedTests"),
        (True, None, "FAILED", ""),
        (False, None, "FAILED", ""),
        (None, True, "PASSED", "passedTests"),
    ],
)
def test_a_run_that_was_resumed(
    ledger: Ledger, before: bool | None, after: bool | None, result: str, place: str
) -> None:
    """A resume hides no verdict that it superseded; what was said before is outdated."""
    run = resumed(ledger, before, after)
    (second,) = attest(ledger, run, [TESTS])
    assert second.result == result
    told = predicates(ledger, run)["test-result"]["predicate"]
    names = ("passedTests", "warnedTests", "failedTests")
    assert {name for name in names if "b" in told[name]} == ({place} - {""})
    own = told["muniment"]
    assert own["undecided"] == ([] if place else ["b"])
    assert len(own["superseded"]) == (before is not None)
    assert {*own["superseded"]} <= {*own["events"]}
    assert len(ledger.export(run, "in-toto").splitlines()) == 1


@pytest.mark.parametrize(("passed", "result"), [(True, "PASSED"), (False, "FAILED")])
def test_properties_are_tests(ledger: Ledger, passed: bool, result: str) -> None:
    """One that failed in any execution failed, whatever the hypotheses say."""

    def program(run: Run) -> None:
        for scope, one in (("a", True), ("b", passed), ("c", True)):
            with run.scope(scope) as lane:
                told = {"name": "even", "transform": "t", "passed": one}
                lane.record("property.tested", told)
        told = {"hypothesis": "h", "verifier": "v", "passed": True}
        run.record("verdict.reached", told)

    run = ledger.execute(program).run_id
    (tested,) = attest(ledger, run, [TESTS])
    assert tested.result == result
    told = predicates(ledger, run)["test-result"]["predicate"]
    assert ("property even" in told["passedTests"]) == passed
    assert ("property even" in told["failedTests"]) != passed


def test_a_fork_passes_with_a_warning(ledger: Ledger) -> None:
    """Its answers are another run's, or nobody's; the statement names its origin."""
    program = verdicts(True)
    run = ledger.execute(program).run_id
    at = next(ledger.events(run=run, type="llm.completed")).seq
    fork = ledger.fork(run, at=at, changes={at: {"content": "!"}}, program=program)
    tested, simple = attest(ledger, fork.run_id, [TESTS, "svr"])
    assert tested.result == "WARNED"
    assert "VERDICTS" not in simple.result
    told = predicates(ledger, fork.run_id)["test-result"]["predicate"]
    assert told["warnedTests"] == ["h0"]
    assert told["muniment"]["fork"]["run"] == run


def test_of_several_programs_none_was_tested(ledger: Ledger) -> None:
    """A verdict names no program, so the test is about the run alone."""
    run = ledger.execute(verdicts(True, codes=[CODE, "x = 1\n"])).run_id
    tested, built = attest(ledger, run, [TESTS, "slsa"])
    assert [name for name, _ in tested.subjects] == [
        f"run-{run}/event-{tested.last}.json"
    ]
    assert [name for name, _ in built.subjects] == ["event-4/code", "event-5/code"]


def test_a_program_that_was_given(ledger: Ledger) -> None:
    """The run did not make it, so there is no provenance."""
    run = ledger.execute(verdicts(True, origin="code")).run_id
    assert refused(ledger, run, "slsa").rule == "attestation/no-synthesis"


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        (TESTS, "attestation/no-verdict"),
        ("slsa", "attestation/no-synthesis"),
        ("vsa", "attestation/no-decision"),
    ],
)
def test_a_run_that_says_nothing(ledger: Ledger, kind: str, rule: str) -> None:
    """What is not there is refused."""
    run = ledger.execute(verdicts(codes=())).run_id
    error = refused(ledger, run, kind)
    assert isinstance(error, RefusedError)
    assert error.rule == rule


def test_too_much_for_an_event(ledger: Ledger) -> None:
    """A statement that no event can hold is refused before anything is signed."""

    def program(run: Run) -> None:
        with run.scope("é" * 100) as lane:
            for number in range(600):
                told = {"hypothesis": f"h{number}", "verifier": "v", "passed": True}
                lane.record("verdict.reached", told)

    run = ledger.execute(program).run_id
    size = ledger.head.size
    with pytest.raises(RefusedError) as raised:
        attest(ledger, run, ["svr", TESTS])
    assert raised.value.rule == "attestation/size"
    assert ledger.head.size == size
    assert attest(ledger, run, ["svr"])


def test_a_digest_is_one(ledger: Ledger) -> None:
    """What a verdict calls the digest of its verifier is left out if it is none."""

    def program(run: Run) -> None:
        for source in ("sha256:zz", "sha256:" + "A" * 64, "", None):
            told = {"hypothesis": "h", "verifier": "v", "passed": True}
            run.record("verdict.reached", told | {"source": source})

    run = ledger.execute(program).run_id
    attest(ledger, run, [TESTS])
    told = predicates(ledger, run)["test-result"]["predicate"]
    assert told["configuration"] == [{"name": "v"}]


def test_mistakes(ledger: Ledger) -> None:
    """An unknown run, and an unknown predicate."""
    run = ledger.execute(verdicts(True)).run_id
    for asked, kind in (("01ZZZ", "svr"), (run, "cyclonedx")):
        with pytest.raises(UsageError) as raised:
            attest(ledger, asked, [kind])
        assert raised.value.remedy


def erase_code(ledger: Ledger, run: str) -> None:
    """Erase the text of the program that was accepted."""
    (code,) = [
        one.raw["code"]
        for one in ledger.events(run=run, type="synthesis.attempted")
        if isinstance(one.raw["code"], dict)
    ]
    ledger.erase(str(code["$blob"]), reason="asked to")


def test_an_erased_program(ledger: Ledger) -> None:
    """What was stated holds; nothing new is stated of what nobody can compare."""
    long = CODE + "# " + "x" * 5000
    runs = [ledger.execute(verdicts(True, codes=[long])).run_id for _ in range(2)]
    first = attest(ledger, runs[0], [TESTS, "slsa", "svr"])
    digest = f"sha256:{sha256(long.encode()).hexdigest()}"
    assert [one.subjects[0][1] == digest for one in first] == [True, True, False]
    written = ledger.export(runs[0], "in-toto")
    for run in runs:
        erase_code(ledger, run)
    assert ledger.export(runs[0], "in-toto") == written
    assert attest(ledger, runs[0], [TESTS, "slsa", "svr"]) == first
    for kind in (TESTS, "slsa"):
        assert refused(ledger, runs[1], kind).rule == "attestation/erased"
    (simple,) = attest(ledger, runs[1], ["svr"])
    assert "MUNIMENT_VERDICTS_PASSED" in simple.result


def test_a_bundle_has_none(ledger: Ledger, tmp_path: Path) -> None:
    """Whole or redacted: it holds one run, and statements are outside of runs."""
    run = ledger.execute(verdicts(True)).run_id
    attest(ledger, run, ["svr"])
    write_bundle(ledger, run, tmp_path / "whole")
    write_bundle(ledger, run, tmp_path / "redacted", disclose=["llm.*"])
    for name in ("whole", "redacted"):
        with open_bundle(tmp_path / name, evidence_plugins()) as bundle:
            with pytest.raises(CannotTellError) as raised:
                bundle.plugins.exporter("in-toto")(bundle, run)
            assert raised.value.rule == "attestation/bundle"


def test_each_is_issued_once(ledger: Ledger) -> None:
    """Asked again, the same event is found, and the ledger verifies with it."""
    run = ledger.execute(verdicts(True)).run_id
    first = attest(ledger, run, ["svr", TESTS])
    size = ledger.head.size
    assert attest(ledger, run, [TESTS, "svr", "svr"]) == first[::-1]
    assert ledger.head.size == size
    root = next(one.keyid for one in ledger.keys.entries if "root" in one.roles)
    ledger.checkpoint()
    assert verify(ledger.path, keys=[root], home=ledger.home).ok


def test_after_a_rotation_of_the_key(ledger: Ledger) -> None:
    """What the key that is gone signed in its time is found, and given out."""
    run = ledger.execute(verdicts(True)).run_id
    first = attest(ledger, run, ["svr"])
    (old,) = ledger.keys.current("writer")
    key_management.rotate(
        ledger,
        key_management.find_key(ledger.keys, old.keyid),
        key_management.request(PrivateKey.generate(), ledger.id, ["writer"], "new"),
        root_of(ledger),
    )
    assert attest(ledger, run, ["svr"]) == first
    assert len(ledger.export(run, "in-toto").splitlines()) == 1
